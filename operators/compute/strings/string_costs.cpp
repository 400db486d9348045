#include "operators/compute/strings/string_costs.hpp"

#include <cstdint>

#include "operators/compute/strings/string_numbers.hpp"
#include "operators/contract/cost_terms.hpp"

namespace garuda::compute {
namespace {

/// Random reads of a string that is equal to an earlier one: its hash, offsets, piece of bytes.
constexpr double kComparedReads = 3;
/// The string's own offset and hash, written and read.
constexpr double kEntryBytes = 12;
/// A row's number of a string, and its key.
constexpr double kKeyBytes = 8;

}  // namespace

contract::PhaseCosts string_number_costs(NumberedStrings const& strings, rates::DeviceRates const& rates) {
  if (strings.strings == 0) return {};
  double numbered = 0;
  if (!strings.are_kept) {
    auto const scratch = static_cast<double>(string_numbers_scratch_bytes(static_cast<std::uint64_t>(strings.strings)));
    numbered = contract::stream_ns(2 * strings.bytes + strings.strings * kEntryBytes + scratch, rates) +
               contract::atomic_ns(strings.strings, rates) +
               contract::read_ns(kComparedReads * strings.strings, rates) + rates.submission_ns;
  }
  return {
      {"number strings", numbered},
      {"string keys", contract::stream_ns(strings.rows * kKeyBytes, rates) + contract::read_ns(strings.rows, rates)}};
}

}  // namespace garuda::compute
