#include <cerrno>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/arrow/arrow_format.hpp"
#include "core/nested/nested_layout.hpp"
#include "garuda/arrow_c.hpp"

namespace garuda {
namespace {

/// Stands for a buffer without bytes, and for the offsets of a column without rows: some consumers refuse null there.
alignas(64) constexpr std::int64_t kEmptyBuffer[8] = {};

/// Releases the children and the dictionary that the consumer has not moved out, then the node itself.
template <class Node, class Private>
void release_node(Node* node) noexcept {
  if (node == nullptr || node->release == nullptr) return;
  for (std::int64_t i = 0; i < node->n_children; ++i) {
    if (node->children[i]->release != nullptr) node->children[i]->release(node->children[i]);
  }
  if (node->dictionary != nullptr && node->dictionary->release != nullptr) node->dictionary->release(node->dictionary);
  delete static_cast<Private*>(node->private_data);
  node->release = nullptr;
  node->private_data = nullptr;
}

/// Storage of the children of one exported node. A child that is moved out keeps its own private data.
template <class Node>
struct ExportedChildren {
  std::vector<Node> nodes;
  std::vector<Node*> pointers;

  void reserve(std::size_t count) {
    nodes.reserve(count);
    pointers.reserve(count);
  }
  Node* add() {
    nodes.emplace_back();
    pointers.push_back(&nodes.back());
    return pointers.back();
  }
};

struct ExportedSchema {
  std::string format;
  std::string name;
  std::string metadata;
  ExportedChildren<ArrowSchema> children;
  ArrowSchema dictionary{};
};

struct ExportedArray {
  std::shared_ptr<void const> owner;
  std::vector<void const*> buffers;
  ExportedChildren<ArrowArray> children;
  ArrowArray dictionary{};
};

/// Releases a node that is being built when an allocation fails on the way.
template <class Node>
struct ReleaseOnFailure {
  Node* node;
  ~ReleaseOnFailure() {
    if (node != nullptr) node->release(node);
  }
  void dismiss() noexcept { node = nullptr; }
};

/// Makes `out` a node without children that refers to its private data.
ExportedSchema& begin_schema(ArrowSchema* out, std::string format, std::string name, std::int64_t flags) {
  auto exported = std::make_unique<ExportedSchema>();
  exported->format = std::move(format);
  exported->name = std::move(name);
  *out = ArrowSchema{.format = exported->format.c_str(),
                     .name = exported->name.c_str(),
                     .metadata = nullptr,
                     .flags = flags,
                     .n_children = 0,
                     .children = nullptr,
                     .dictionary = nullptr,
                     .release = release_node<ArrowSchema, ExportedSchema>,
                     .private_data = exported.get()};
  return *exported.release();
}

void set_metadata(std::string const& metadata, ExportedSchema& exported, ArrowSchema* out) {
  exported.metadata = metadata;
  if (!metadata.empty()) out->metadata = exported.metadata.data();
}

void export_nested(NestedType const& type, std::string const& name, std::string const& metadata, std::int64_t flags,
                   ArrowSchema* out) {
  auto& exported = begin_schema(out, type.format, name, flags);
  ReleaseOnFailure<ArrowSchema> guard{out};
  set_metadata(metadata, exported, out);
  exported.children.reserve(type.children.size());
  out->children = exported.children.pointers.data();
  for (auto const& child : type.children) {
    export_nested(child, child.name, child.metadata, child.flags, exported.children.add());
    ++out->n_children;
  }
  if (type.dictionary != nullptr) {
    export_nested(*type.dictionary, type.dictionary->name, type.dictionary->metadata, type.dictionary->flags,
                  &exported.dictionary);
    out->dictionary = &exported.dictionary;
  }
  guard.dismiss();
}

void export_field(Field const& field, ArrowSchema* out) {
  if (auto const& nested = field.type.nested; nested != nullptr) {
    auto const flags =
        (nested->flags & ~std::int64_t{ARROW_FLAG_NULLABLE}) | (field.nullable ? ARROW_FLAG_NULLABLE : 0);
    return export_nested(*nested, field.name, field.metadata, flags, out);
  }
  auto const is_dictionary = field.type.id == TypeId::dictionary;
  std::int64_t flags = field.nullable ? ARROW_FLAG_NULLABLE : 0;
  if (is_dictionary && field.type.ordered) flags |= ARROW_FLAG_DICTIONARY_ORDERED;
  auto& exported = begin_schema(out, format_string(field.type), field.name, flags);
  ReleaseOnFailure<ArrowSchema> guard{out};
  set_metadata(field.metadata, exported, out);
  if (is_dictionary) {
    export_field(Field{"", *field.type.value, true}, &exported.dictionary);
    out->dictionary = &exported.dictionary;
  }
  guard.dismiss();
}

void export_schema(Schema const& schema, ArrowSchema* out) {
  auto& exported = begin_schema(out, "+s", "", 0);
  ReleaseOnFailure<ArrowSchema> guard{out};
  exported.children.reserve(schema.size());
  out->children = exported.children.pointers.data();
  for (auto const& field : schema) {
    export_field(field, exported.children.add());
    ++out->n_children;
  }
  guard.dismiss();
}

ExportedArray& begin_array(ArrowArray* out, std::shared_ptr<void const> owner, std::vector<void const*> buffers) {
  auto exported = std::make_unique<ExportedArray>();
  exported->owner = std::move(owner);
  exported->buffers = std::move(buffers);
  *out = ArrowArray{.length = 0,
                    .null_count = 0,
                    .offset = 0,
                    .n_buffers = static_cast<std::int64_t>(exported->buffers.size()),
                    .n_children = 0,
                    .buffers = exported->buffers.data(),
                    .children = nullptr,
                    .dictionary = nullptr,
                    .release = release_node<ArrowArray, ExportedArray>,
                    .private_data = exported.get()};
  return *exported.release();
}

void const* or_empty(void const* buffer) { return buffer == nullptr ? kEmptyBuffer : buffer; }

/// An array whose memory is that of another one.
void export_same(ArrowArray const& array, std::shared_ptr<void const> const& owner, ArrowArray* out) {
  auto& exported = begin_array(out, owner, std::vector<void const*>(array.buffers, array.buffers + array.n_buffers));
  ReleaseOnFailure<ArrowArray> guard{out};
  out->length = array.length;
  out->offset = array.offset;
  out->null_count = array.null_count;
  exported.children.reserve(static_cast<std::size_t>(array.n_children));
  out->children = exported.children.pointers.data();
  for (std::int64_t c = 0; c < array.n_children; ++c) {
    export_same(*array.children[c], owner, exported.children.add());
    ++out->n_children;
  }
  if (array.dictionary != nullptr) {
    export_same(*array.dictionary, owner, &exported.dictionary);
    out->dictionary = &exported.dictionary;
  }
  guard.dismiss();
}

void export_column(ArrayView const& view, DataType const& type, std::shared_ptr<void const> const& owner,
                   ArrowArray* out) {
  if (type.id == TypeId::nested) {
    auto const& array = *static_cast<ArrowArray const*>(view.values);
    export_same(array, owner, out);
    bool const is_whole = view.offset == array.offset && view.length == array.length;
    if (!is_whole) out->null_count = array.null_count == 0 ? 0 : -1;
    out->length = view.length;
    out->offset = view.offset;
    return;
  }
  std::vector<void const*> buffers{view.validity};
  if (is_variable_width(type)) buffers.push_back(or_empty(view.offsets));
  buffers.push_back(or_empty(view.values));
  if (is_view(type)) {
    auto const& data = *static_cast<ViewBuffers const*>(view.offsets);
    buffers.insert(buffers.end(), data.buffers, data.buffers + data.count);
    buffers.push_back(or_empty(data.bytes));
  }
  auto& exported = begin_array(out, owner, std::move(buffers));
  ReleaseOnFailure<ArrowArray> guard{out};
  out->length = view.length;
  out->offset = view.offset;
  out->null_count = view.validity == nullptr ? 0 : view.null_count;
  if (type.id == TypeId::dictionary) {
    export_column(*view.dictionary, *type.value, owner, &exported.dictionary);
    out->dictionary = &exported.dictionary;
  }
  guard.dismiss();
}

void export_columns(Schema const& schema, Batch const& batch, ArrowArray* out) {
  auto& exported = begin_array(out, batch.owner, {nullptr});
  ReleaseOnFailure<ArrowArray> guard{out};
  out->length = batch.num_rows;
  exported.children.reserve(schema.size());
  out->children = exported.children.pointers.data();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    export_column(batch.columns[i], schema[i].type, batch.owner, exported.children.add());
    ++out->n_children;
  }
  guard.dismiss();
}

void expect_exportable(Schema const& schema, Batch const& batch) {
  GARUDA_EXPECTS(batch.columns.size() == schema.size());
  for (std::size_t i = 0; i < schema.size(); ++i) {
    auto const& column = batch.columns[i];
    GARUDA_EXPECTS(column.length == batch.num_rows);
    GARUDA_EXPECTS(column.location.kind != Location::Kind::device);
    GARUDA_EXPECTS(schema[i].type.id != TypeId::dictionary || (schema[i].type.value && column.dictionary != nullptr));
  }
}

/// A stream handed to a consumer. What fails once fails again, so that no consumer takes an error for the end.
class ExportedStream {
 public:
  explicit ExportedStream(std::unique_ptr<BatchStream> stream) : stream_(std::move(stream)) {}

  int get_schema(ArrowSchema* out) {
    return guarded([&]() -> Result<void> {
      export_schema(stream_->schema(), out);
      return {};
    });
  }

  int get_next(ArrowArray* out) {
    if (code_ != 0) return code_;
    return guarded([&]() -> Result<void> {
      GARUDA_TRY_ASSIGN(auto batch, stream_->next());
      if (!batch) {
        *out = ArrowArray{};
        return {};
      }
      expect_exportable(stream_->schema(), *batch);
      export_columns(stream_->schema(), *batch, out);
      return {};
    });
  }

  char const* last_error() const noexcept {
    if (code_ == 0) return nullptr;
    if (!message_.empty()) return message_.c_str();
    return code_ == ENOMEM ? "host memory exhausted" : "unknown failure";
  }

 private:
  static int error_number(ErrorCode code) noexcept {
    switch (code) {
      case ErrorCode::out_of_memory:
      case ErrorCode::limit_exceeded:
        return ENOMEM;
      case ErrorCode::cancelled:
        return ECANCELED;
      case ErrorCode::output:
      case ErrorCode::device_failure:
        return EIO;
      case ErrorCode::no_device:
        return ENODEV;
      case ErrorCode::usage:
      case ErrorCode::invalid_input:
        return EINVAL;
    }
    return EINVAL;
  }

  /// Runs `step`; no exception crosses into the consumer's C code.
  template <class Step>
  int guarded(Step step) noexcept {
    try {
      try {
        auto const result = step();
        if (result) return 0;
        return remember(error_number(result.error().code()), result.error().describe());
      } catch (std::bad_alloc const&) {
        throw;
      } catch (std::exception const& exception) {
        return remember(EINVAL, exception.what());
      }
    } catch (std::bad_alloc const&) {  // also of a message's own memory
      return remember(ENOMEM, {});
    } catch (...) {
      return remember(EINVAL, {});
    }
  }

  int remember(int code, std::string message) noexcept {
    code_ = code;
    message_ = std::move(message);
    return code;
  }

  std::unique_ptr<BatchStream> stream_;
  int code_ = 0;
  std::string message_;  // empty: there was no memory for one
};

/// The batches of a table, one after the other.
class TableStream final : public BatchStream {
 public:
  explicit TableStream(std::shared_ptr<Table const> table) : table_(std::move(table)) {}

  Schema const& schema() const noexcept override { return table_->schema(); }
  Result<std::optional<Batch>> next() override {
    if (next_ == table_->batches().size()) return std::nullopt;
    return table_->batches()[next_++];
  }

 private:
  std::shared_ptr<Table const> table_;
  std::size_t next_ = 0;
};

ExportedStream& self(ArrowArrayStream* stream) { return *static_cast<ExportedStream*>(stream->private_data); }

void release_stream(ArrowArrayStream* stream) noexcept {
  if (stream == nullptr || stream->release == nullptr) return;
  delete static_cast<ExportedStream*>(stream->private_data);
  stream->release = nullptr;
  stream->private_data = nullptr;
}

}  // namespace

Result<void> export_arrow(Schema const& schema, Batch batch, ArrowArray* out, ArrowSchema* out_schema) {
  GARUDA_EXPECTS(out != nullptr && out_schema != nullptr);
  expect_exportable(schema, batch);
  try {
    export_schema(schema, out_schema);
    ReleaseOnFailure<ArrowSchema> guard{out_schema};
    export_columns(schema, batch, out);
    guard.dismiss();
    return {};
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "host memory exhausted while exporting a batch");
  }
}

void export_arrow(std::unique_ptr<BatchStream> stream, ArrowArrayStream* out) {
  GARUDA_EXPECTS(stream != nullptr && out != nullptr);
  auto exported = std::make_unique<ExportedStream>(std::move(stream));
  *out = ArrowArrayStream{
      .get_schema = [](ArrowArrayStream* s, ArrowSchema* schema) { return self(s).get_schema(schema); },
      .get_next = [](ArrowArrayStream* s, ArrowArray* array) { return self(s).get_next(array); },
      .get_last_error = [](ArrowArrayStream* s) { return self(s).last_error(); },
      .release = release_stream,
      .private_data = exported.release()};
}

void export_arrow(std::shared_ptr<Table const> table, ArrowArrayStream* out) {
  GARUDA_EXPECTS(table != nullptr);
  export_arrow(std::make_unique<TableStream>(std::move(table)), out);
}

}  // namespace garuda
