#include "python/extension/capsules.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "garuda/arrow_c.hpp"
#include "python/extension/failure.hpp"
#include "python/extension/watch.hpp"

namespace nb = nanobind;

namespace garuda::python {
namespace {

constexpr char const* kStream = "arrow_array_stream";
constexpr char const* kSchema = "arrow_schema";
constexpr char const* kArray = "arrow_array";

template <class Struct>
void release_capsule(PyObject* capsule, char const* name) {
  auto* const held = static_cast<Struct*>(PyCapsule_GetPointer(capsule, name));
  if (held->release != nullptr) held->release(held);
  delete held;
}

template <class Struct>
nb::capsule make_capsule(Struct held, char const* name, PyCapsule_Destructor destructor) {
  auto owned = std::make_unique<Struct>(held);
  auto* const capsule = PyCapsule_New(owned.get(), name, destructor);
  if (capsule == nullptr) {
    held.release(owned.get());
    throw nb::python_error();
  }
  (void)owned.release();
  return nb::steal<nb::capsule>(capsule);
}

template <class Struct>
Struct take(nb::handle capsule, char const* name) {
  if (!PyCapsule_IsValid(capsule.ptr(), name))
    throw nb::type_error((std::string("a capsule called ") + name + " is expected").c_str());
  auto* const held = static_cast<Struct*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (held->release == nullptr) throw nb::value_error("this capsule was taken before");
  auto const taken = *held;
  held->release = nullptr;
  return taken;
}

/// Memory behind of_buffers' arrays; `columns` and `pointers` are as long as they will be before anything refers to
/// them.
struct Column {
  std::string name, format;
  std::vector<Py_buffer> buffers;
  std::vector<void const*> addresses;
  ArrowArray array{};
  ArrowSchema schema{};
};

void release_child(ArrowArray* array) { array->release = nullptr; }
void release_child_schema(ArrowSchema* schema) { schema->release = nullptr; }

struct Columns {
  std::vector<Column> columns;
  std::vector<ArrowArray*> arrays;
  std::vector<ArrowSchema*> schemas;
  void const* no_validity[1] = {nullptr};

  Columns() = default;
  Columns(Columns const&) = delete;
  Columns& operator=(Columns const&) = delete;
  ~Columns() {
    Locked const locked;
    if (!locked) return;  // the memory is gone with the interpreter
    in_python([this] {
      for (auto& column : columns)
        for (auto& buffer : column.buffers) PyBuffer_Release(&buffer);
    });
  }
};

using Shared = std::shared_ptr<Columns>;  // array and schema are released in any order

template <class Struct>
void release_shared(Struct* held) {
  delete static_cast<Shared*>(held->private_data);
  held->release = nullptr;
}

void add_column(Columns& all, nb::handle described, std::int64_t rows) {
  auto const column_of = nb::cast<nb::tuple>(described);
  auto& column = all.columns.emplace_back();
  column.name = nb::cast<nb::str>(column_of[0]).c_str();
  column.format = nb::cast<nb::str>(column_of[1]).c_str();
  for (auto const& given : nb::cast<nb::list>(column_of[3])) {
    if (given.is_none()) {
      column.addresses.push_back(nullptr);
      continue;
    }
    Py_buffer buffer;
    if (PyObject_GetBuffer(given.ptr(), &buffer, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
    column.buffers.push_back(buffer);
    column.addresses.push_back(buffer.buf);
  }
  column.array.length = rows;
  column.array.null_count = nb::cast<std::int64_t>(column_of[2]);
  column.array.release = release_child;
  column.schema.flags = ARROW_FLAG_NULLABLE;
  column.schema.release = release_child_schema;
}

}  // namespace

nb::capsule to_capsule(ArrowArrayStream stream) {
  return make_capsule(stream, kStream, [](PyObject* capsule) { release_capsule<ArrowArrayStream>(capsule, kStream); });
}

nb::capsule schema_capsule(Schema const& schema) {
  ArrowArrayStream stream;
  export_arrow(std::make_shared<Table const>(schema, std::vector<Batch>{}), &stream);
  ArrowSchema exported{};
  auto const failed = stream.get_schema(&stream, &exported) != 0;
  std::string const reason = failed ? stream.get_last_error(&stream) : "";
  stream.release(&stream);
  if (failed) raise(Error(ErrorCode::out_of_memory, reason));
  return make_capsule(exported, kSchema, [](PyObject* capsule) { release_capsule<ArrowSchema>(capsule, kSchema); });
}

ArrowArrayStream take_stream(nb::handle capsule) { return take<ArrowArrayStream>(capsule, kStream); }
ArrowSchema take_schema(nb::handle capsule) { return take<ArrowSchema>(capsule, kSchema); }
ArrowArray take_array(nb::handle capsule) { return take<ArrowArray>(capsule, kArray); }

ArrowArrayStream until_cancelled(ArrowArrayStream stream, Control control) {
  struct Held {
    ArrowArrayStream stream;
    Control control;
  };
  ArrowArrayStream guarded;
  guarded.private_data = new Held{stream, std::move(control)};
  guarded.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    auto& inner = static_cast<Held*>(self->private_data)->stream;
    return in_python([&] { return inner.get_schema(&inner, out); });
  };
  guarded.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    auto& held = *static_cast<Held*>(self->private_data);
    if (held.control.is_cancelled()) return ECANCELED;
    return in_python([&] { return held.stream.get_next(&held.stream, out); });
  };
  guarded.get_last_error = [](ArrowArrayStream* self) {
    auto& held = *static_cast<Held*>(self->private_data);
    return held.control.is_cancelled() ? "cancelled by the caller" : held.stream.get_last_error(&held.stream);
  };
  guarded.release = [](ArrowArrayStream* self) {
    auto const held = std::unique_ptr<Held>(static_cast<Held*>(self->private_data));
    in_python([&] { held->stream.release(&held->stream); });
    self->release = nullptr;
  };
  return guarded;
}

std::pair<ArrowArray, ArrowSchema> of_buffers(nb::list const& columns, std::int64_t rows) {
  auto const all = std::make_shared<Columns>();
  all->columns.reserve(columns.size());
  for (auto const& column : columns) add_column(*all, column, rows);
  for (auto& column : all->columns) {
    column.array.n_buffers = static_cast<std::int64_t>(column.addresses.size());
    column.array.buffers = column.addresses.data();
    column.schema.name = column.name.c_str();
    column.schema.format = column.format.c_str();
    all->arrays.push_back(&column.array);
    all->schemas.push_back(&column.schema);
  }
  auto const count = static_cast<std::int64_t>(columns.size());
  ArrowArray array{};
  array.length = rows;
  array.n_buffers = 1;
  array.buffers = all->no_validity;
  array.n_children = count;
  array.children = all->arrays.data();
  array.release = release_shared<ArrowArray>;
  ArrowSchema schema{};
  schema.format = "+s";
  schema.name = "";
  schema.n_children = count;
  schema.children = all->schemas.data();
  schema.release = release_shared<ArrowSchema>;
  auto kept = std::make_unique<Shared>(all);
  schema.private_data = new Shared(all);
  array.private_data = kept.release();
  return {array, schema};
}

}  // namespace garuda::python
