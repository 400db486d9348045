#include "keys/codes/byte_writer.hpp"

#include <algorithm>
#include <cstring>

namespace garuda::keys {
namespace {

/// Most entries of a table, unless one digit takes more: what half a first-level cache holds.
constexpr std::size_t kMostEntries = 512;

/// Bytes of the values that some digits' figures stand for, zero at other positions.
struct Entry {
  std::array<std::uint8_t, kMostCodedBytes> bytes{};
  std::size_t length = kMostCodedBytes;  ///< at which the value ends, at the latest
};

}  // namespace

ByteWriter::ByteWriter(ByteCoding const& coding)
    : longest_(coding.longest()),
      is_narrow_(coding.longest() <= kNarrowBytes),
      has_one_length_(coding.has_one_length()) {
  ByteShape::Bytes fixed{};
  std::copy_n(coding.shape_.least.begin(), coding.longest(), fixed.begin());
  for (auto const& digit : coding.digits_) fixed[digit.position] = 0;
  std::memcpy(constant_.data(), fixed.data(), fixed.size());
  std::vector<Entry> entries(1);
  auto const end_table = [&] {
    auto& table = tables_.emplace_back(Table{ExactDivisor(entries.size()), {}, {}});
    auto const words = (is_narrow_ ? kNarrowBytes : kMostCodedBytes) / 8;
    table.bytes.resize(entries.size() * words);
    for (std::size_t e = 0; e < entries.size(); ++e) {
      std::memcpy(&table.bytes[e * words], entries[e].bytes.data(), 8 * words);
      if (!has_one_length_) table.lengths.push_back(static_cast<std::uint8_t>(entries[e].length));
    }
    entries.assign(1, {});
  };
  for (auto digit = coding.digits_.rbegin(); digit != coding.digits_.rend(); ++digit) {
    auto const radix = digit->radix.value();
    if (entries.size() > 1 && entries.size() * radix > kMostEntries) end_table();
    std::vector<Entry> with_digit;
    for (std::uint64_t figure = 0; figure < radix; ++figure)
      for (auto entry : entries) {
        if (digit->may_end && figure == 0)
          entry.length = digit->position;
        else
          entry.bytes[digit->position] = static_cast<std::uint8_t>(digit->least + figure - (digit->may_end ? 1 : 0));
        with_digit.push_back(entry);
      }
    entries = std::move(with_digit);
  }
  if (entries.size() > 1) end_table();
}

}  // namespace garuda::keys
