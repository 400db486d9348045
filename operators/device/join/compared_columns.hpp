// How the columns and constants of a condition are compared by passes on a device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "keys/codes/scaled_number.hpp"
#include "operators/compute/primitives/key_conversion.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::device {

/// What values of an encoding are compared as.
struct ComparedAs {
  enum class Form : std::uint8_t {
    words,    ///< of `kind`, one or two of them
    numbers,  ///< integers of up to 256 bits
    texts,    ///< bytes: strings, and binary of any size
  };
  Form form = Form::words;
  std::uint32_t kind = 0;   ///< of words, as column_values_layout.h has it
  std::uint32_t words = 1;  ///< likewise
};

/// What the stored values of a column, or of a constant of its type, become.
struct ColumnReading {
  std::optional<compute::KeyConversion> conversion{};  ///< of words: floats of another type
  std::vector<std::uint64_t> factors{};                ///< of numbers
};

/// A condition whose columns a device compares.
struct ComparedColumns {
  std::vector<ComparedAs> encodings;
  std::array<std::vector<ColumnReading>, 2> columns;  ///< by side
  std::vector<ColumnReading> constants;
};

/// Whether a device compares the columns of tables that are brought there whole: by their types alone. Errors:
/// invalid_input, with what it does not compare.
Result<void> check_compared_types(Schema const& left, Schema const& right, expr::ResolvedCondition const& condition);

/// Reads what has to be known of the columns' values, where it is not. Requires: both tables live on one device, the
/// request has a condition. Errors: invalid_input for values beyond the type that they are compared in, which are no
/// values to compare on the host either; those of device memory, device_failure, cancelled.
Result<ComparedColumns> compared_columns(resolve::JoinRequest const& request);

/// A constant of an encoding whose form is numbers, of words, or as one of them.
keys::Words256 constant_number(expr::ConditionConstant const& constant, ColumnReading const& reading,
                               DataType const& as);
std::uint64_t constant_word(expr::ConditionConstant const& constant, ColumnReading const& reading);

/// What testing a pair reads, and what has to be made before, for plans.
struct ConditionReads {
  double values = 0;      ///< at random, of a pair
  double made_bytes = 0;  ///< that are read and written once
};
/// Of tables on a device, or outlines of such.
ConditionReads condition_reads(resolve::JoinRequest const& request);

}  // namespace garuda::device
