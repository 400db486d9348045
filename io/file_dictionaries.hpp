// Dictionaries of a file's batches: validated, freed of nulls, made one a column.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Batches of one file may share dictionaries: each is looked at once, however many do. Not safe to use from several
/// threads. Move-only in spirit: keeps alive the dictionaries of the batches that it saw last.
class FileDictionaries {
 public:
  /// Checks every value of every batch and of the dictionaries, on `threads` threads (0: all), until `cancelled`, where
  /// there is one, says so.
  arrow::Status validate(ArrowBatches const& batches, std::uint32_t threads,
                         std::atomic<bool> const* cancelled = nullptr);

  /// Makes one batch of `batches`, after having validated them, where they share their dictionaries and a column of
  /// theirs can hold all; else returns them as they are.
  arrow::Result<ArrowBatches> as_one(ArrowBatches batches, std::uint32_t threads);

  /// Returns `batches` with dictionaries without nulls: an index of a null value becomes a null, as it means one.
  /// Columns without such values are shared, not copied. Requires: validate succeeded. Errors: out of memory.
  arrow::Result<ArrowBatches> without_null_values(ArrowBatches batches);

 private:
  using Dictionary = std::shared_ptr<arrow::ArrayData>;
  /// Dictionary without nulls, and where in it each value of `source` is: a null where that is none.
  struct WithoutNulls {
    Dictionary source;
    std::shared_ptr<arrow::Array> values;
    std::shared_ptr<arrow::Array> positions;
  };

  static arrow::Result<WithoutNulls> drop_nulls(Dictionary const& dictionary,
                                                std::shared_ptr<arrow::DataType> const& index_type);

  std::unordered_set<Dictionary> validated_;
  std::unordered_map<arrow::ArrayData const*, WithoutNulls> without_nulls_;
};

/// Checks every value of a column and of its dictionary. Thread-safe.
arrow::Status validate_values(arrow::ArrayData const& column);

/// Gives the batches of each column one dictionary, so that a result needs one too.
/// `threads`: 0: all.
arrow::Result<ArrowBatches> unify_dictionaries(ArrowBatches batches, std::uint32_t threads = 0);

}  // namespace garuda::io
