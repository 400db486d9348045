#include "io/parquet/chunk_pages.hpp"

#include <arrow/io/memory.h>
#include <parquet/file_reader.h>
#include <snappy.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace garuda::io {
namespace {

/// Most times that a page may grow: Snappy makes at most 64 bytes of three. A damaged page that names a greater length
/// takes no memory.
constexpr std::size_t kMostGrowth = 32;

/// The bytes of a Snappy stream that is one literal, as pages of packed codes are, which do not compress; empty: it is
/// another. `size`: of its bytes, which its first ones name.
std::span<char const> one_literal(std::span<char const> stream, std::size_t size) {
  constexpr std::size_t kMostInTag = 60;
  // The length of the stream takes seven bits a byte, and that of a long literal one to four bytes behind its tag.
  auto const header = static_cast<std::size_t>(std::bit_width(size | 1) + 6) / 7;
  if (stream.size() < header + 1 || size > stream.size()) return {};
  auto const tag = static_cast<std::uint8_t>(stream[header]);
  std::size_t const in_tag = tag >> 2;
  bool const is_literal = (tag & 3) == 0;
  auto const behind = in_tag < kMostInTag ? 0 : in_tag - kMostInTag + 1;
  auto const rest = stream.subspan(header + 1);
  if (!is_literal || rest.size() != behind + size || size == 0) return {};
  std::uint32_t length = static_cast<std::uint32_t>(in_tag);
  if (behind > 0) {
    length = 0;
    std::memcpy(&length, rest.data(), behind);
  }
  return length == size - 1 ? rest.subspan(behind) : std::span<char const>();
}

/// The bytes of a column chunk that is compressed by Snappy, and not encrypted; nullptr: it is another, or the file
/// does not have them.
std::shared_ptr<arrow::Buffer> snappy_chunk(parquet::ColumnChunkMetaData const& chunk,
                                            arrow::io::RandomAccessFile& bytes) {
  if (chunk.compression() != parquet::Compression::SNAPPY || chunk.crypto_metadata() != nullptr) return nullptr;
  auto const first = first_byte_of(chunk);
  auto const size = chunk.total_compressed_size();
  auto const file_size = bytes.GetSize().ValueOr(0);
  if (first < 0 || size < 0 || first > file_size || size > file_size - first) return nullptr;
  return bytes.ReadAt(first, size).ValueOr(nullptr);
}

}  // namespace

parquet::ReaderProperties checked_properties() {
  parquet::ReaderProperties properties(memory_pool());
  properties.set_page_checksum_verification(true);
  return properties;
}

std::int64_t first_byte_of(parquet::ColumnChunkMetaData const& chunk) {
  auto const data = chunk.data_page_offset();
  // Some writers leave the offset of a dictionary out.
  bool const has_dictionary = chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0;
  return has_dictionary ? std::min(chunk.dictionary_page_offset(), data) : data;
}

ChunkPages::ChunkPages(parquet::ParquetFileReader& file, arrow::io::RandomAccessFile& bytes, int row_group, int leaf) {
  auto const& footer = *file.metadata();
  auto const chunk = footer.RowGroup(row_group)->ColumnChunk(leaf);
  // Writers before that counted too few bytes of a chunk, which Arrow makes up for.
  bool const is_counted = !footer.writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION());
  auto compressed = is_counted ? snappy_chunk(*chunk, bytes) : nullptr;
  is_compressed_ = compressed != nullptr;
  stay_ = is_compressed_ ||
          (chunk->compression() == parquet::Compression::UNCOMPRESSED && chunk->crypto_metadata() == nullptr);
  pages_ = is_compressed_ ? parquet::PageReader::Open(std::make_shared<arrow::io::BufferReader>(std::move(compressed)),
                                                      chunk->num_values(), parquet::Compression::UNCOMPRESSED,
                                                      checked_properties(), *footer.schema()->Column(leaf))
                          : file.RowGroup(row_group)->GetColumnPageReader(leaf);
}

ChunkPages::~ChunkPages() = default;

std::optional<std::shared_ptr<parquet::Page>> ChunkPages::next() {
  auto page = pages_->NextPage();
  if (page == nullptr || !is_compressed_) return page;
  if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
    auto const& dictionary = static_cast<parquet::DictionaryPage const&>(*page);
    auto bytes = decompressed(*page, 0, std::nullopt);
    if (bytes == nullptr) return std::nullopt;
    return std::make_shared<parquet::DictionaryPage>(std::move(bytes), dictionary.num_values(), dictionary.encoding(),
                                                     dictionary.is_sorted());
  }
  if (page->type() == parquet::PageType::DATA_PAGE) {
    auto const& data = static_cast<parquet::DataPageV1 const&>(*page);
    auto bytes = decompressed(*page, 0, data.uncompressed_size());
    if (bytes == nullptr) return std::nullopt;
    return std::make_shared<parquet::DataPageV1>(std::move(bytes), data.num_values(), data.encoding(),
                                                 data.definition_level_encoding(), data.repetition_level_encoding(),
                                                 data.uncompressed_size());
  }
  if (page->type() != parquet::PageType::DATA_PAGE_V2) return std::nullopt;
  auto const& data = static_cast<parquet::DataPageV2 const&>(*page);
  if (!data.is_compressed()) return page;
  auto const level_bytes =
      std::int64_t{data.definition_levels_byte_length()} + std::int64_t{data.repetition_levels_byte_length()};
  auto bytes = decompressed(*page, level_bytes, data.uncompressed_size());
  if (bytes == nullptr) return std::nullopt;
  return std::make_shared<parquet::DataPageV2>(std::move(bytes), data.num_values(), data.num_nulls(), data.num_rows(),
                                               data.encoding(), data.definition_levels_byte_length(),
                                               data.repetition_levels_byte_length(), data.uncompressed_size());
}

/// The page's bytes, of which the first `level_bytes` are as they are; `size`: of all, where the page says so.
std::shared_ptr<arrow::Buffer> ChunkPages::decompressed(parquet::Page const& page, std::int64_t level_bytes,
                                                        std::optional<std::int64_t> size) {
  if (level_bytes < 0 || level_bytes > page.size()) return nullptr;
  auto const kept = static_cast<std::size_t>(level_bytes);
  auto const* const from = reinterpret_cast<char const*>(page.data()) + kept;
  auto const count = static_cast<std::size_t>(page.size()) - kept;
  std::size_t length = 0;
  if (!snappy::GetUncompressedLength(from, count, &length) || length > kMostGrowth * count) return nullptr;
  auto const all = static_cast<std::int64_t>(kept + length);
  if (size && *size != all) return nullptr;
  if (auto const literal = one_literal({from, count}, length); kept == 0 && !literal.empty())
    return arrow::SliceBuffer(page.buffer(), literal.data() - reinterpret_cast<char const*>(page.data()),
                              static_cast<std::int64_t>(length));
  if (buffer_ == nullptr || buffer_.use_count() > 1) {
    PARQUET_ASSIGN_OR_THROW(auto buffer, arrow::AllocateResizableBuffer(all, memory_pool()));
    buffer_ = std::move(buffer);
  }
  PARQUET_THROW_NOT_OK(buffer_->Resize(all, false));
  std::memcpy(buffer_->mutable_data(), page.data(), kept);
  auto* const out = reinterpret_cast<char*>(buffer_->mutable_data()) + kept;
  return snappy::RawUncompress(from, count, out) ? buffer_ : nullptr;
}

}  // namespace garuda::io
