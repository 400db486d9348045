// The first rows of a result as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::cli {

/// Collects the first rows of a stream of batches.
class Preview {
 public:
  /// `shown`: the columns' types as they are printed. Both must outlive the preview.
  Preview(Schema const& schema, Schema const& shown) : schema_(schema), shown_(shown) {}

  /// Takes what it still wants of the next batch of the stream.
  Result<void> add(Batch const& batch);

  /// Names, types and rows in aligned columns, as many as fit `width` characters, then the number of rows in all.
  std::string to_text(std::size_t width) const;

 private:
  Schema const& schema_;
  Schema const& shown_;
  std::vector<std::vector<std::string>> rows_;
  std::uint64_t num_rows_ = 0;
};

}  // namespace garuda::cli
