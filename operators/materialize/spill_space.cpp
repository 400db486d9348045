#include "operators/materialize/spill_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/os/file.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"

namespace garuda::materialize {
namespace {

/// Where a column's buffers begin in a file, in bytes; nullopt: it has no such buffer.
struct Places {
  std::optional<std::uint64_t> validity;
  std::optional<std::uint64_t> offsets;
  std::optional<std::uint64_t> values;
  std::vector<std::uint64_t> viewed;       ///< the buffers that views refer to
  std::vector<std::int64_t> viewed_bytes;  ///< of each of them
};

/// Writes the buffers of columns one after the other. Its calls after a failure do nothing.
class BufferFile {
 public:
  explicit BufferFile(int descriptor) : descriptor_(descriptor) {}

  /// Every buffer begins at a multiple of what any type is aligned to.
  std::uint64_t begin_buffer() {
    constexpr std::uint64_t kAlignment = 64;
    constexpr std::array<char, kAlignment> kZeros{};
    append(kZeros.data(), (kAlignment - size_ % kAlignment) % kAlignment);
    return size_;
  }
  void append(void const* bytes, std::uint64_t count) {
    constexpr std::uint64_t kMostWaiting = std::uint64_t{1} << 18;
    if (count == 0) return;
    std::string_view const text(static_cast<char const*>(bytes), count);
    size_ += count;
    if (count < kMostWaiting) {
      waiting_ += text;
      if (waiting_.size() < kMostWaiting) return;
      flush();
      return;
    }
    flush();
    write(text);
  }
  std::uint64_t add(void const* bytes, std::uint64_t count) {
    auto const begin = begin_buffer();
    append(bytes, count);
    return begin;
  }
  /// Ends the writing. 0 or an errno.
  int finish() {
    add("", 1);  // an empty file cannot be mapped
    flush();
    return error_number_;
  }
  std::uint64_t size() const noexcept { return size_; }

 private:
  void flush() {
    write(waiting_);
    waiting_.clear();
  }
  void write(std::string_view text) {
    if (error_number_ == 0) error_number_ = os::write_all(descriptor_, text);
  }

  int descriptor_;
  int error_number_ = 0;
  std::uint64_t size_ = 0;
  std::string waiting_;
};

/// The row of a column's buffers that is written first: bitmaps are cut at whole bytes.
std::int64_t first_row(ArrayView const& array) noexcept { return array.offset & ~std::int64_t{7}; }
std::int64_t end_row(ArrayView const& array) noexcept { return array.offset + array.length; }

std::uint64_t add_bits(BufferFile& file, void const* bits, ArrayView const& array) {
  auto const begin = static_cast<std::size_t>(first_row(array) / 8);
  auto const end = static_cast<std::size_t>((end_row(array) + 7) / 8);
  return file.add(static_cast<std::byte const*>(bits) + begin, end - begin);
}

template <class Offset>
void add_variable(BufferFile& file, ArrayView const& array, Places& places) {
  auto const* const from = static_cast<Offset const*>(array.offsets) + first_row(array);
  auto const count = static_cast<std::size_t>(end_row(array) - first_row(array)) + 1;
  auto const skipped = static_cast<std::size_t>(array.offset - first_row(array));
  std::vector<Offset> offsets(count, 0);
  for (auto i = skipped; i < count; ++i) offsets[i] = static_cast<Offset>(from[i] - from[skipped]);
  places.offsets = file.add(offsets.data(), count * sizeof(Offset));
  places.values = file.begin_buffer();
  if (array.values != nullptr)
    file.append(static_cast<std::byte const*>(array.values) + from[skipped],
                static_cast<std::uint64_t>(offsets.back()));
}

/// Writes the values that views refer to, then views of these.
void add_views(BufferFile& file, ArrayView const& array, Places& places) {
  constexpr auto kMostBytes = std::int64_t{std::numeric_limits<std::int32_t>::max()};
  std::vector<ValueView> views(static_cast<std::size_t>(end_row(array) - first_row(array)));
  auto const skipped = array.offset - first_row(array);
  places.viewed.push_back(file.begin_buffer());
  places.viewed_bytes.push_back(0);
  for (std::int64_t i = 0; i < array.length; ++i) {
    if (array.is_null(i)) continue;
    auto const value = variable_value(array, ValueLayout::views, array.offset + i);
    if (places.viewed_bytes.back() > kMostBytes - static_cast<std::int64_t>(value.size())) {
      places.viewed.push_back(file.begin_buffer());
      places.viewed_bytes.push_back(0);
    }
    auto& bytes = places.viewed_bytes.back();
    auto view = make_view(value, static_cast<std::int32_t>(bytes));
    if (view.length > kInlineViewBytes) {
      auto const buffer = static_cast<std::int32_t>(places.viewed.size()) - 1;
      std::memcpy(view.bytes + 4, &buffer, sizeof(buffer));
      file.append(value.data(), value.size());
      bytes += view.length;
    }
    views[static_cast<std::size_t>(skipped + i)] = view;
  }
  places.values = file.add(views.data(), views.size() * sizeof(ValueView));
}

/// Requires: no nested type.
Places add_column(BufferFile& file, ArrayView const& array, DataType const& type) {
  Places places;
  if (array.validity != nullptr) places.validity = add_bits(file, array.validity, array);
  if (is_view(type)) {
    add_views(file, array, places);
  } else if (is_variable_width(type)) {
    has_large_offsets(type) ? add_variable<std::int64_t>(file, array, places)
                            : add_variable<std::int32_t>(file, array, places);
  } else if (type.id == TypeId::boolean) {
    places.values = add_bits(file, array.values, array);
  } else {
    auto const width = static_cast<std::uint64_t>(byte_width(type));
    auto const begin = static_cast<std::uint64_t>(first_row(array));
    auto const end = static_cast<std::uint64_t>(end_row(array));
    places.values = file.add(static_cast<std::byte const*>(array.values) + begin * width, (end - begin) * width);
  }
  return places;
}

/// The buffers that the views of a column refer to, in a mapped file.
struct FiledViews {
  std::vector<void const*> buffers;
  std::vector<std::int64_t> bytes;
  ViewBuffers list;
};

/// A mapped file, and what the columns in it refer to.
struct MappedColumns {
  os::MappedBytes mapped;
  std::vector<std::unique_ptr<FiledViews>> views;
  std::vector<std::shared_ptr<void const>> owners;  ///< of shared columns and dictionaries

  explicit MappedColumns(os::MappedBytes bytes) : mapped(bytes) {}
  MappedColumns(MappedColumns const&) = delete;
  MappedColumns& operator=(MappedColumns const&) = delete;
  ~MappedColumns() { os::unmap_file(mapped); }

  std::byte const* at(std::optional<std::uint64_t> place) const noexcept {
    return place ? mapped.address + *place : nullptr;
  }
  ArrayView column(ArrayView array, Places const& places) {
    array.offset -= first_row(array);
    array.validity = reinterpret_cast<std::uint8_t const*>(at(places.validity));
    array.offsets = at(places.offsets);
    array.values = at(places.values);
    if (places.viewed.empty()) return array;
    auto& made = *views.emplace_back(std::make_unique<FiledViews>());
    for (auto const begin : places.viewed) made.buffers.push_back(at(begin));
    made.bytes = places.viewed_bytes;
    made.list = {static_cast<std::int64_t>(made.buffers.size()), made.buffers.data(), made.bytes.data()};
    array.offsets = &made.list;
    return array;
  }
};

/// Counts bytes that are held in memory for as long as a batch lives.
struct HeldColumns {
  std::shared_ptr<std::atomic<std::uint64_t>> counter;
  std::uint64_t bytes;
  std::vector<std::shared_ptr<void const>> owners;

  HeldColumns(std::shared_ptr<std::atomic<std::uint64_t>> of, std::uint64_t count)
      : counter(std::move(of)), bytes(count) {}
  HeldColumns(HeldColumns const&) = delete;
  HeldColumns& operator=(HeldColumns const&) = delete;
  ~HeldColumns() { *counter -= bytes; }
};

std::vector<std::shared_ptr<void const>> owners_of(std::vector<KeptColumn> const& columns, bool shared_only) {
  std::vector<std::shared_ptr<void const>> owners;
  for (auto const& column : columns)
    if (column.owner != nullptr && (column.is_shared || !shared_only) &&
        std::ranges::find(owners, column.owner) == owners.end())
      owners.push_back(column.owner);
  return owners;
}

/// Whether two dictionaries of one type have the same values in the same order.
bool are_same(ArrayView const& a, ArrayView const& b, DataType const& type) {
  if (a.length != b.length || type.id == TypeId::boolean) return false;
  for (std::int64_t i = 0; i < a.length; ++i) {
    if (a.is_null(i) != b.is_null(i)) return false;
    if (!a.is_null(i) && bytes_at(a, type, a.offset + i) != bytes_at(b, type, b.offset + i)) return false;
  }
  return true;
}

Result<std::shared_ptr<MappedColumns>> mapped(BufferFile& file, os::FileDescriptor descriptor,
                                              os::TemporaryFolder const& folder) {
  if (auto const error_number = file.finish(); error_number != 0)
    return tl::unexpected(Error(ErrorCode::output, os::system_message(error_number)).wrap(folder.sentence()));
  auto const bytes = os::map_unnamed_file(descriptor.take());
  if (bytes.address == nullptr)
    return tl::unexpected(Error(ErrorCode::output, os::system_message(bytes.error_number)).wrap(folder.sentence()));
  return std::make_shared<MappedColumns>(bytes);
}

}  // namespace

struct FiledDictionary {
  DataType type;  ///< of its values
  ArrayView array;
  std::shared_ptr<void const> file;
};

std::uint64_t bytes_of_rows(ArrayView const& array, DataType const& type) noexcept {
  auto const rows = static_cast<std::uint64_t>(array.length);
  auto bytes = array.validity == nullptr ? 0 : rows / 8;
  if (array.length == 0) return 0;
  auto const range = [&](auto const* offsets) {
    return static_cast<std::uint64_t>(offsets[end_row(array)] - offsets[array.offset]) + rows * sizeof(*offsets);
  };
  if (type.id == TypeId::nested) return bytes + rows * 16;
  if (is_view(type)) {
    for (std::int64_t i = 0; i < array.length; ++i) {
      auto const length = static_cast<ValueView const*>(array.values)[array.offset + i].length;
      if (!array.is_null(i) && length > kInlineViewBytes) bytes += static_cast<std::uint64_t>(length);
    }
    return bytes + rows * sizeof(ValueView);
  }
  if (is_variable_width(type))
    return bytes + (has_large_offsets(type) ? range(static_cast<std::int64_t const*>(array.offsets))
                                            : range(static_cast<std::int32_t const*>(array.offsets)));
  if (type.id == TypeId::boolean) return bytes + rows / 8;
  return bytes + rows * static_cast<std::uint64_t>(byte_width(type));
}

std::uint64_t bytes_of_rows(TableView table) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b)
    for (std::size_t c = 0; c < table.num_columns(); ++c)
      bytes += bytes_of_rows(table.batch(b).columns[c], table.schema()[c].type);
  return bytes;
}

SpillSpace::SpillSpace(os::TemporaryFolder folder, std::uint64_t memory_bytes)
    : folder_(std::move(folder)),
      memory_bytes_(memory_bytes),
      held_bytes_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}
SpillSpace::~SpillSpace() = default;

Result<Batch> SpillSpace::keep(Schema const& schema, std::int64_t num_rows, std::vector<KeptColumn> columns) {
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (!columns[c].is_shared) bytes += bytes_of_rows(columns[c].array, schema[c].type);
  if (held_bytes_->fetch_add(bytes) + bytes > memory_bytes_ && bytes != 0) {
    *held_bytes_ -= bytes;
    return spill(schema, num_rows, columns);
  }
  auto held = std::make_shared<HeldColumns>(held_bytes_, bytes);
  held->owners = owners_of(columns, false);
  Batch batch{num_rows, {}, std::move(held)};
  for (auto& column : columns) batch.columns.push_back(column.array);
  return batch;
}

Result<Batch> SpillSpace::keep(Schema const& schema, Batch batch) {
  std::vector<KeptColumn> columns;
  for (auto const& array : batch.columns) columns.push_back({array, batch.owner, false});
  return keep(schema, batch.num_rows, std::move(columns));
}

Result<Table> SpillSpace::collect(BatchStream& stream) {
  std::vector<Batch> batches;
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, stream.next());
    if (!batch) return Table(stream.schema(), std::move(batches));
    GARUDA_TRY_ASSIGN(auto kept, keep(stream.schema(), *std::move(batch)));
    batches.push_back(std::move(kept));
  }
}

Result<std::shared_ptr<FiledDictionary const>> SpillSpace::file_dictionary(ArrayView const& array,
                                                                           DataType const& type) {
  constexpr std::size_t kMostRemembered = 16;
  {
    std::lock_guard const lock(mutex_);
    for (auto const& filed : dictionaries_)
      if (filed->type == type && are_same(filed->array, array, type)) return filed;
  }
  GARUDA_TRY_ASSIGN(int const descriptor, folder_.create_file());
  os::FileDescriptor owned(descriptor);
  BufferFile file(descriptor);
  auto const places = add_column(file, array, type);
  GARUDA_TRY_ASSIGN(auto in_file, mapped(file, std::move(owned), folder_));
  spilled_bytes_ += file.size();
  auto filed = std::make_shared<FiledDictionary>();
  filed->type = type;
  filed->array = in_file->column(array, places);
  filed->file = std::move(in_file);
  std::lock_guard const lock(mutex_);
  if (dictionaries_.size() == kMostRemembered) dictionaries_.erase(dictionaries_.begin());
  dictionaries_.push_back(filed);
  return filed;
}

Result<Batch> SpillSpace::spill(Schema const& schema, std::int64_t num_rows, std::vector<KeptColumn> const& columns) {
  auto owners = owners_of(columns, true);
  std::vector<ArrayView> arrays;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    auto const& type = schema[c].type;
    arrays.push_back(columns[c].array);
    if (columns[c].is_shared) continue;
    if (type.id == TypeId::nested || (type.id == TypeId::dictionary && type.value->id == TypeId::nested))
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("rows of a query do not fit the memory limit, and columns of a nested type are not "
                              "spilled: {}",
                              to_string(type)));
    if (type.id != TypeId::dictionary || arrays.back().dictionary == nullptr) continue;
    GARUDA_TRY_ASSIGN(auto const filed, file_dictionary(*arrays.back().dictionary, *type.value));
    arrays.back().dictionary = &filed->array;
    owners.push_back(filed);
  }
  GARUDA_TRY_ASSIGN(int const descriptor, folder_.create_file());
  os::FileDescriptor owned(descriptor);
  BufferFile file(descriptor);
  std::vector<Places> places(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (!columns[c].is_shared) places[c] = add_column(file, arrays[c], schema[c].type);
  GARUDA_TRY_ASSIGN(auto in_file, mapped(file, std::move(owned), folder_));
  spilled_bytes_ += file.size();
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (!columns[c].is_shared) arrays[c] = in_file->column(arrays[c], places[c]);
  in_file->owners = std::move(owners);
  return Batch{num_rows, std::move(arrays), std::move(in_file)};
}

}  // namespace garuda::materialize
