// Group-by keys back from their packed words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/group_keys.hpp"

namespace garuda::keys {

/// Decodes key columns of integers, decimals of at most 64 bits, dates, times and floats. Safe to use from several
/// threads.
class KeyDecoder {
 public:
  /// nullopt when the keys are not packed, or a column cannot be told from its codes (strings, dictionaries, …).
  /// `types`: of the key columns.
  static std::optional<KeyDecoder> create(EncodedGroupKeys const& keys, std::vector<DataType> types);

  std::size_t num_columns() const noexcept { return attributes_.size(); }

  struct Column {
    ArrayView array;  ///< refers to the buffers
    AlignedBuffer values;
    AlignedBuffer validity;  ///< empty: no nulls
  };
  /// Column `index` of the keys with these words, a row each; floats in canonical form. In parallel on the calling task
  /// arena. Errors: out_of_memory, cancelled.
  Result<Column> decode(std::size_t index, std::span<std::uint64_t const> words, Control const& control) const;

 private:
  struct Attribute {
    DataType type;
    CodeInverse inverse = CodeInverse::none;
    std::uint64_t divisor = 1;      ///< what a step of this attribute counts in a word; 0: it has one value
    std::uint64_t cardinality = 0;  ///< 0: nothing of the word stands above it
    std::uint64_t smallest = 0;     ///< code at the first position that is not null
    bool has_nulls = false;

    std::uint64_t position(std::uint64_t word) const noexcept {
      if (divisor == 0) return 0;
      auto const quotient = divisor == 1 ? word : word / divisor;
      return cardinality == 0 ? quotient : quotient % cardinality;
    }
  };
  template <class T, class ValueOf>
  static void write(Attribute const& attribute, std::span<std::uint64_t const> words, std::byte* out, ValueOf value_of);
  static void write_values(Attribute const& attribute, std::span<std::uint64_t const> words, std::byte* out);

  std::vector<Attribute> attributes_;
};

}  // namespace garuda::keys
