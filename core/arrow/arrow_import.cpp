#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/arrow/arrow_format.hpp"
#include "core/arrow/arrow_validate.hpp"
#include "core/nested/nested_layout.hpp"
#include "core/type_rows.hpp"
#include "garuda/arrow_c.hpp"

namespace garuda {
namespace {

/// Owns a structure of the C interface: takes it over from the caller and releases it once.
template <class T>
class Imported {
 public:
  explicit Imported(T* source) noexcept : value_(*source) { source->release = nullptr; }
  Imported(Imported&& other) noexcept : value_(other.value_) { other.value_.release = nullptr; }
  Imported& operator=(Imported&&) = delete;
  ~Imported() {
    if (value_.release != nullptr) value_.release(&value_);
  }

  T const& operator*() const noexcept { return value_; }
  T const* operator->() const noexcept { return &value_; }
  T* get() noexcept { return &value_; }

 private:
  T value_;
};

/// The memory that a batch keeps alive.
struct ImportedBatch {
  explicit ImportedBatch(Imported<ArrowArray> source) : array(std::move(source)) {}

  Imported<ArrowArray> array;
  ImportStorage storage;
};

tl::unexpected<Error> in_column(std::string_view name, Error error) {
  return tl::unexpected(std::move(error).wrap(fmt::format("cannot import column: {}", name)));
}

std::string_view name_of(ArrowSchema const& schema) { return schema.name == nullptr ? "" : schema.name; }

/// Key-value pairs as the interface encodes them: their number, then lengths and bytes of keys and values.
Result<std::string> import_metadata(char const* metadata) {
  if (metadata == nullptr) return std::string();
  auto const* at = metadata;
  auto const number = [&at] {
    std::int32_t value;
    std::memcpy(&value, at, sizeof(value));
    at += sizeof(value);
    return value;
  };
  for (auto strings = 2 * std::int64_t{number()}; strings > 0; --strings) {
    auto const length = number();
    if (length < 0) return invalid_array(fmt::format("length of metadata is negative: {}", length));
    at += length;
  }
  return std::string(metadata, at);
}

constexpr int kMostDepth = 64;

Result<NestedType> import_nested(ArrowSchema const& schema, int depth) {
  if (schema.release == nullptr) return invalid_array("schema is released");
  if (schema.format == nullptr) return invalid_array("format string is null");
  if (depth > kMostDepth) return invalid_array(fmt::format("types are nested deeper than {} levels", kMostDepth));
  NestedType type{schema.format, std::string(name_of(schema)), {}, schema.flags, {}, nullptr};
  GARUDA_TRY_ASSIGN(type.metadata, import_metadata(schema.metadata));
  if (auto const expected = num_children_of(type.format); expected && schema.n_children != *expected)
    return invalid_array(
        fmt::format("number of children of type {} is not {}: {}", to_string(type), *expected, schema.n_children));
  if (schema.n_children < 0 || (schema.n_children > 0 && schema.children == nullptr))
    return invalid_array(fmt::format("list of children is null, children: {}", schema.n_children));
  for (std::int64_t c = 0; c < schema.n_children; ++c) {
    if (schema.children[c] == nullptr) return invalid_array(fmt::format("schema of a child is null: {}", c));
    GARUDA_TRY_ASSIGN(auto child, import_nested(*schema.children[c], depth + 1));
    type.children.push_back(std::move(child));
  }
  if (schema.dictionary != nullptr) {
    auto values = import_nested(*schema.dictionary, depth + 1);
    if (!values) return tl::unexpected(std::move(values).error().wrap("invalid dictionary type"));
    type.dictionary = std::make_shared<NestedType const>(*std::move(values));
  }
  GARUDA_TRY(parse_node(type));
  return type;
}

Result<DataType> import_type(ArrowSchema const& schema) {
  GARUDA_TRY_ASSIGN(auto tree, import_nested(schema, 0));
  auto const is_nested = [](NestedType const& type) {
    return parse_node(type)->layout > NestedLayout::dictionary || (type.dictionary && type.dictionary->dictionary);
  };
  if (is_nested(tree) || (tree.dictionary && is_nested(*tree.dictionary))) {
    tree.name.clear();
    tree.metadata.clear();  // the field's
    return DataType{.id = TypeId::nested, .nested = std::make_shared<NestedType const>(std::move(tree))};
  }
  GARUDA_TRY_ASSIGN(auto type, parse_format(tree.format));
  if (!tree.dictionary) return type;
  GARUDA_TRY_ASSIGN(auto value, parse_format(tree.dictionary->format));
  return DataType{.id = TypeId::dictionary,
                  .index = type.id,
                  .value = std::make_shared<DataType const>(std::move(value)),
                  .ordered = (schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0};
}

Result<Schema> import_schema(ArrowSchema const& schema) {
  if (schema.release == nullptr) return invalid_array("schema is released");
  if (schema.format == nullptr) return invalid_array("format string of the schema is null");
  if (std::strcmp(schema.format, "+s") != 0) {
    return invalid_array(fmt::format("schema is not that of a struct array: '{}'", schema.format));
  }
  if (schema.dictionary != nullptr) return invalid_array("schema of a struct array has a dictionary");
  if (schema.n_children < 0 || schema.n_children > std::numeric_limits<std::int32_t>::max()) {
    return invalid_array(fmt::format("number of columns out of range: {}", schema.n_children));
  }
  if (schema.n_children > 0 && schema.children == nullptr) return invalid_array("list of columns is null");
  Schema fields;
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    auto const* child = schema.children[i];
    if (child == nullptr) return invalid_array(fmt::format("schema is null, of the column at position: {}", i));
    auto type = import_type(*child);
    if (!type) return in_column(name_of(*child), std::move(type).error());
    GARUDA_TRY_ASSIGN(auto metadata, import_metadata(child->metadata));
    fields.push_back({std::string(name_of(*child)), *std::move(type), (child->flags & ARROW_FLAG_NULLABLE) != 0,
                      std::move(metadata)});
  }
  return fields;
}

/// The dictionary of each column in the latest batch, whose memory lives as long as that batch.
using KnownDictionaries = std::vector<std::optional<KnownDictionary>>;

/// Validates a struct array and makes a batch of its children, which start at the struct array's own offset.
Result<Batch> import_batch(Imported<ArrowArray> array, Schema const& schema, KnownDictionaries& known,
                           Offsets offsets) {
  GARUDA_TRY(check_shape(*array, 1, static_cast<std::int64_t>(schema.size())));
  if (array->dictionary != nullptr) return invalid_array("struct array has a dictionary");
  GARUDA_TRY_ASSIGN(auto const null_rows, check_validity(*array, {0, array->length}));
  if (null_rows > 0) return invalid_array(fmt::format("struct array has null rows: {}", null_rows));

  auto owner = std::make_shared<ImportedBatch>(std::move(array));
  auto const& parent = *owner->array;
  Batch batch{parent.length, {}, nullptr};
  batch.columns.reserve(schema.size());
  for (std::size_t i = 0; i < schema.size(); ++i) {
    auto const* child = parent.children[i];
    if (child == nullptr) return in_column(schema[i].name, Error(ErrorCode::invalid_input, "array is null"));
    auto view = view_array(*child, schema[i].type, {parent.offset, parent.length}, owner->storage, known[i], offsets);
    if (!view) return in_column(schema[i].name, std::move(view).error());
    batch.columns.push_back(*view);
  }
  batch.owner = std::move(owner);
  return batch;
}

/// Arrays that a stream gives before they are looked at.
constexpr std::size_t kBatchesAtOnce = 256;

/// Makes batches of arrays: on the threads of the calling task arena, where this thread is in one.
std::vector<Result<Batch>> import_batches(std::vector<Imported<ArrowArray>> arrays, Schema const& schema,
                                          KnownDictionaries& known, Offsets offsets) {
  namespace tbb = oneapi::tbb;
  std::vector<Result<Batch>> batches(arrays.size());
  auto const import_at = [&](std::size_t i, KnownDictionaries& dictionaries) {
    batches[i] = import_batch(std::move(arrays[i]), schema, dictionaries, offsets);
  };
  bool const has_threads = tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized;
  for (std::size_t i = 0; i < batches.size() && (i == 0 || !has_threads); ++i) import_at(i, known);
  if (has_threads && batches.size() > 1)
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(std::size_t{1}, batches.size(), [&](std::size_t i) {
        auto of_first = known;
        import_at(i, of_first);
      });
    });
  return batches;
}

/// The failure of a stream callback that returned `code`.
tl::unexpected<Error> producer_failure(Imported<ArrowArrayStream>& stream, int code) {
  char const* message = stream->get_last_error == nullptr ? nullptr : stream->get_last_error(stream.get());
  return invalid_array(fmt::format("the producer of the stream failed with code {}: {}", code,
                                   message == nullptr ? "no message given" : message));
}

Result<Schema> read_schema(Imported<ArrowArrayStream>& stream) {
  // Not owned before the callback succeeded: what a failed one leaves behind is not a schema.
  ArrowSchema produced{};
  if (auto const code = stream->get_schema(stream.get(), &produced); code != 0) return producer_failure(stream, code);
  Imported<ArrowSchema> const owned(&produced);
  return import_schema(*owned);
}

}  // namespace

Result<Table> import_arrow(ArrowArray* array, ArrowSchema* schema) {
  GARUDA_EXPECTS(array != nullptr && schema != nullptr);
  Imported<ArrowArray> owned_array(array);
  Imported<ArrowSchema> const owned_schema(schema);
  GARUDA_TRY_ASSIGN(auto fields, import_schema(*owned_schema));
  KnownDictionaries none(fields.size());
  GARUDA_TRY_ASSIGN(auto batch, import_batch(std::move(owned_array), fields, none, Offsets::checked));
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  return Table(std::move(fields), std::move(batches));
}

Result<Table> import_arrow(ArrowArrayStream* stream, Offsets offsets) {
  GARUDA_EXPECTS(stream != nullptr);
  if (stream->release == nullptr) return invalid_array("stream is released");
  Imported<ArrowArrayStream> owned(stream);
  if (owned->get_schema == nullptr || owned->get_next == nullptr) return invalid_array("stream lacks a callback");
  GARUDA_TRY_ASSIGN(auto fields, read_schema(owned));
  std::vector<Batch> batches;
  KnownDictionaries known(fields.size());
  int code = 0;
  for (bool is_end = false; !is_end;) {
    std::vector<Imported<ArrowArray>> arrays;
    while (!is_end && arrays.size() < kBatchesAtOnce) {
      ArrowArray produced{};
      code = owned->get_next(owned.get(), &produced);
      is_end = code != 0 || produced.release == nullptr;
      if (!is_end) arrays.emplace_back(&produced);
    }
    for (auto& batch : import_batches(std::move(arrays), fields, known, offsets)) {
      if (!batch)
        return tl::unexpected(
            std::move(batch).error().wrap(fmt::format("invalid batch at position: {}", batches.size())));
      batches.push_back(*std::move(batch));
    }
  }
  if (code != 0) return producer_failure(owned, code);
  return Table(std::move(fields), std::move(batches));
}

}  // namespace garuda
