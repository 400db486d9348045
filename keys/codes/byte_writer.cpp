#include "keys/codes/byte_writer.hpp"

#include <algorithm>

namespace garuda::keys {
namespace {

/// Most entries of a table, unless one digit takes more: with their lengths, what half a first-level cache holds.
constexpr std::size_t kMostEntries = 512;

}  // namespace

ByteWriter::ByteWriter(ByteCoding const& coding) : is_narrow_(coding.longest() <= kNarrowBytes) {
  ByteShape::Bytes fixed{};
  std::copy_n(coding.shape_.least.begin(), coding.longest(), fixed.begin());
  for (auto const& digit : coding.digits_) fixed[digit.position] = 0;
  std::memcpy(constant_.bytes.data(), fixed.data(), fixed.size());
  constant_.length = coding.longest();
  std::vector<Entry> entries(1);
  auto const end_table = [&] {
    tables_.push_back({ExactDivisor(entries.size()), std::move(entries)});
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
          reinterpret_cast<std::uint8_t*>(entry.bytes.data())[digit->position] =
              static_cast<std::uint8_t>(digit->least + figure - (digit->may_end ? 1 : 0));
        with_digit.push_back(entry);
      }
    entries = std::move(with_digit);
  }
  if (entries.size() > 1) end_table();
}

}  // namespace garuda::keys
