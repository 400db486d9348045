// The way of a column of strings or binary to a device: offsets and bytes, or codes and the dictionary's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "core/variable_value.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/device/strings/stored_strings.hpp"
#include "operators/materialize/gather.hpp"
#include "vk_runtime/memory/copy_team.hpp"

namespace garuda::device {

/// The upload of one column of strings; stays in place until its copies are done.
class StringUpload {
 public:
  /// Measures the column's strings, on the host, and takes device memory for them; the table outlives the upload.
  /// `most_bytes`: of strings that lie together. Errors: limit_exceeded for more than compute::kMostStrings strings, or
  /// one of more bytes; those of memory. Requires: is_stored_as_strings.
  static Result<std::unique_ptr<StringUpload>> create(TableView table, std::size_t column, vk::Device& device,
                                                      vk::MemoryUse use, std::uint64_t most_bytes);
  StringUpload(StringUpload const&) = delete;
  StringUpload& operator=(StringUpload const&) = delete;
  ~StringUpload();

  /// The type of the column there: a dictionary's indices may have become wider, as a gather's do.
  DataType const& type() const noexcept { return type_; }
  std::shared_ptr<Strings const> const& strings() const noexcept { return strings_; }
  /// Whether rows refer to strings by codes, which go up, too; else each row has the string of its own number.
  bool has_codes() const noexcept { return codes_ != nullptr; }
  /// `numbers`: where codes go, u32 a row.
  std::vector<vk::HostCopy> copies(vk::Buffer const& numbers) const;

 private:
  class PieceBytes;
  class Codes;

  StringUpload();
  Result<void> measure(DataType const& type, std::uint64_t most_bytes);

  DataType type_;
  std::uint64_t rows_ = 0;
  std::vector<ArrayView> arrays_;  ///< of strings, one behind another
  std::shared_ptr<Strings const> strings_;
  std::vector<std::unique_ptr<PieceBytes>> pieces_;
  std::unique_ptr<Codes> codes_;
};

/// An outline of the strings that StringUpload would make of a column. Lengths are those of rows, or guessed.
std::shared_ptr<Strings const> outline_strings(TableView table, std::size_t column);

}  // namespace garuda::device
