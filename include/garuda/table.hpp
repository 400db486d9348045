// Tables of columns in Arrow layout: views that borrow, batches that own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda {

namespace device {
struct DeviceTableState;
}  // namespace device

/// Where the bytes of a buffer live.
struct Location {
  enum class Kind : std::uint8_t { host, imported_host, device };
  Kind kind = Kind::host;
  std::uint32_t device = 0;  ///< index of the engine's device, for imported_host and device

  friend bool operator==(Location const&, Location const&) = default;
};

/// The buffers that the views of a column of utf8_view or binary_view refer to.
struct ViewBuffers {
  std::int64_t count = 0;
  void const* const* buffers = nullptr;
  std::int64_t const* bytes = nullptr;  ///< of each buffer
};

/// One contiguous column in Arrow layout, borrowed. All positions are counted from `offset`, as in Arrow.
///   validity  bitmap, least significant bit first, nullptr: no nulls
///   offsets   (length + offset + 1) × int32 or int64, variable-width types only; of views: ViewBuffers
///   values    fixed width: (length + offset) × byte_width; boolean: bitmap; variable width: the bytes the offsets
///             refer to; views: 16 bytes each; nested: the ArrowArray, whose own offset `offset` holds already;
///             dictionary: the indices, null in `validity`, too, where the value referred to is null
struct ArrayView {
  std::int64_t length = 0;
  std::int64_t offset = 0;
  std::int64_t null_count = -1;  ///< -1: not counted
  std::uint8_t const* validity = nullptr;
  void const* offsets = nullptr;
  void const* values = nullptr;
  ArrayView const* dictionary = nullptr;
  Location location{};
  bool ascends = false;  ///< of a dictionary's strings or binary: they ascend by their bytes, each once, none null

  /// True when row `i`, counted from `offset`, is null. Requires host-readable memory.
  bool is_null(std::int64_t i) const noexcept {
    auto const bit = offset + i;
    return validity != nullptr && ((validity[bit >> 3] >> (bit & 7)) & 1) == 0;
  }
  /// Values of a fixed-width column as `T`, row 0 first.
  template <class T>
  T const* data() const noexcept {
    return static_cast<T const*>(values) + offset;
  }
};

/// The number of nulls in `array`, counted when it is not known.
std::int64_t count_nulls(ArrayView const& array) noexcept;

/// Rows [begin, begin + length) of `array`, borrowed. Requires 0 <= begin, begin + length <= array.length.
ArrayView slice(ArrayView const& array, std::int64_t begin, std::int64_t length);

/// Equal-length columns, borrowed. `owner`: what keeps them alive, if that is known: results that refer to their bytes
/// then do so, too.
struct BatchView {
  std::int64_t num_rows = 0;
  std::span<ArrayView const> columns;
  std::shared_ptr<void const> owner{};
};

/// Equal-length columns that own, or keep alive, what they refer to. Move-only in spirit: copying would share `owner`.
/// `owner` is shared because exported arrays and slices of a table outlive each other in any order (Arrow C release).
struct Batch {
  std::int64_t num_rows = 0;
  std::vector<ArrayView> columns;
  std::shared_ptr<void const> owner;

  BatchView view() const noexcept { return {num_rows, columns, owner}; }
};

/// A schema and its rows in batches, borrowed: valid while the Table, or the caller's buffers, live.
/// Row r of the table is row r - first_row(b) of the batch b that holds it. A batch may be empty.
class TableView {
 public:
  TableView() = default;
  /// Requires: each batch has one column a field; `schema` and `batches` outlive the view. `resident`: the library's
  /// own, of a table on a device, whose batch has no bytes to read.
  TableView(Schema const& schema, std::span<BatchView const> batches,
            device::DeviceTableState const* resident = nullptr);

  Schema const& schema() const noexcept { return *schema_; }
  std::int64_t num_rows() const noexcept { return num_rows_; }
  std::size_t num_columns() const noexcept { return schema_->size(); }
  std::size_t num_batches() const noexcept { return batches_.size(); }
  BatchView const& batch(std::size_t i) const noexcept { return batches_[i]; }
  /// State of the DeviceTable that is viewed; nullptr: the columns are on the host.
  device::DeviceTableState const* resident() const noexcept { return resident_; }

 private:
  Schema const* schema_ = nullptr;
  std::span<BatchView const> batches_;
  std::int64_t num_rows_ = 0;
  device::DeviceTableState const* resident_ = nullptr;
};

/// A schema and the batches of its rows, owned.
class Table {
 public:
  Table() = default;
  /// Requires: each batch has one column a field.
  Table(Schema schema, std::vector<Batch> batches);
  Table(Table&&) noexcept = default;
  Table& operator=(Table&&) noexcept = default;
  Table(Table const&) = delete;
  Table& operator=(Table const&) = delete;

  Schema const& schema() const noexcept { return *schema_; }
  std::int64_t num_rows() const noexcept { return view_.num_rows(); }
  std::span<Batch const> batches() const noexcept { return batches_; }
  TableView view() const noexcept { return view_; }

 private:
  std::unique_ptr<Schema const> schema_;  // stable address for the view
  std::vector<Batch> batches_;
  std::vector<BatchView> batch_views_;
  TableView view_;
};

/// A sequence of batches of one schema, produced on demand.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  virtual Schema const& schema() const noexcept = 0;
  /// Returns the next batch, or nullopt after the last. After an error the stream is at its end. Blocks; not
  /// thread-safe.
  virtual Result<std::optional<Batch>> next() = 0;
};

/// Reads `stream` to its end.
Result<Table> collect(BatchStream& stream);

}  // namespace garuda
