#include "io/parquet/flat_pages.hpp"

#include <cstddef>
#include <cstring>

namespace garuda::io {
namespace {

using Bytes = std::span<std::uint8_t const>;

/// Whether definition levels of at most 1 are one run of ones, as writers make them where nothing is null.
bool is_run_of_ones(Bytes levels, std::int32_t count) {
  constexpr unsigned kMostShift = 28;
  std::uint64_t header = 0;
  std::size_t next = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (next == levels.size() || shift > kMostShift) return false;
    auto const byte = levels[next++];
    header |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  bool const is_run = (header & 1) == 0;
  return is_run && header >> 1 >= static_cast<std::uint64_t>(count) && next < levels.size() && levels[next] == 1;
}

Bytes bytes_of(parquet::Page const& page) { return {page.data(), static_cast<std::size_t>(page.size())}; }

}  // namespace

std::optional<PageValues> values_of(parquet::Page const& page, bool has_levels) {
  auto const bytes = bytes_of(page);
  if (page.type() == parquet::PageType::DATA_PAGE) {
    auto const& data = static_cast<parquet::DataPageV1 const&>(page);
    if (!has_levels) return PageValues{data.num_values(), data.encoding(), bytes, nullptr};
    std::uint32_t length = 0;
    if (data.definition_level_encoding() != parquet::Encoding::RLE || bytes.size() < sizeof(length))
      return std::nullopt;
    std::memcpy(&length, bytes.data(), sizeof(length));
    auto const rest = bytes.subspan(sizeof(length));
    if (length > rest.size() || !is_run_of_ones(rest.first(length), data.num_values())) return std::nullopt;
    return PageValues{data.num_values(), data.encoding(), rest.subspan(length), nullptr};
  }
  if (page.type() != parquet::PageType::DATA_PAGE_V2) return std::nullopt;
  auto const& data = static_cast<parquet::DataPageV2 const&>(page);
  auto const length = data.definition_levels_byte_length();
  if (data.repetition_levels_byte_length() != 0 || length < 0 || static_cast<std::size_t>(length) > bytes.size())
    return std::nullopt;
  auto const levels = bytes.first(static_cast<std::size_t>(length));
  if (has_levels && !is_run_of_ones(levels, data.num_values())) return std::nullopt;
  return PageValues{data.num_values(), data.encoding(), bytes.subspan(levels.size()), nullptr};
}

std::optional<PageValues> dictionary_values_of(parquet::DictionaryPage const& page) {
  bool const is_plain =
      page.encoding() == parquet::Encoding::PLAIN || page.encoding() == parquet::Encoding::PLAIN_DICTIONARY;
  if (!is_plain || page.num_values() < 0) return std::nullopt;
  return PageValues{page.num_values(), parquet::Encoding::PLAIN, bytes_of(page), nullptr};
}

}  // namespace garuda::io
