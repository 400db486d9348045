// The columns and constants of a condition as passes on a device compare them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/primitives/key_conversion.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/strings/string_numbers.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::device {

/// How the values of a column are read.
struct ColumnReading {
  enum class Kind : std::uint8_t {
    words,      ///< as they are stored
    converted,  ///< by `conversion`
    cut,        ///< decimals of 128 bits, none of which takes more than 64
    strings,    ///< by number: equal just where the strings are
  };
  Kind kind = Kind::words;
  compute::KeyConversion conversion{};
};

/// What has to be made of a column before it is compared, for plans.
struct MadeForCondition {
  Strings const* strings = nullptr;  ///< whose numbers are wanted, or
  double bytes = 0;                  ///< that are read and written
};
std::vector<MadeForCondition> made_for_condition(resolve::JoinRequest const& request, Side side);

/// What values of an encoding are compared as.
struct ComparedAs {
  std::uint32_t kind = 0;  ///< of column_values_layout.h
  std::uint32_t words = 1;
};

/// A condition whose columns a device compares.
struct ComparedColumns {
  std::vector<ComparedAs> encodings;
  std::array<std::vector<ColumnReading>, 2> columns;  ///< by side
  std::vector<std::uint64_t> constants;               ///< words of their values, of strings nothing
};

/// Whether values of a type are compared in another by their words alone: all that tables have which are not there yet.
/// `order`: not only whether they are equal.
bool is_compared_by_words(DataType const& from, DataType const& as, bool order);

/// Reads what has to be known of the columns' values, where it is not. Requires: both tables live on one device, the
/// request has a condition. Errors: invalid_input, with what a device compares; those of device memory, device_failure,
/// cancelled.
Result<ComparedColumns> compared_columns(resolve::JoinRequest const& request);

/// Of values that are compared by their words.
ComparedAs compared_as(DataType const& as);
/// Whether words of a type are continued by their sign: integers and decimals, dates, times and durations too.
bool is_signed_type(DataType const& type);

/// Values that were made for a condition's columns.
class MadeColumns {
 public:
  /// Records what makes them; waits for numbers of constant strings. `compared` of the request. Errors: limit_exceeded,
  /// out_of_memory, device_failure, cancelled.
  static Result<MadeColumns> create(compute::ComputeContext& context, resolve::JoinRequest const& request,
                                    ComparedColumns const& compared);

  /// Where the values of column `index` of a side's in the condition lie.
  compute::DeviceColumn column(Side side, std::size_t index) const;
  /// Words of a constant.
  std::uint64_t constant(std::size_t index) const { return constants_[index]; }

 private:
  Result<void> make(compute::ComputeContext& context, Side side, std::size_t index, ColumnReading const& reading);
  Result<void> number(compute::ComputeContext& context, std::size_t encoding);
  DeviceTableState const& table(Side side) const noexcept;

  resolve::JoinRequest const* request_ = nullptr;
  std::array<std::vector<compute::DeviceColumn>, 2> columns_;  // by side
  std::vector<std::uint64_t> constants_;
  std::vector<StringKeyColumn> numbered_;
  std::vector<vk::Buffer> buffers_;
};

}  // namespace garuda::device
