#include "python/extension/tables.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/load.hpp"
#include "core/os/library.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"
#include "garuda/arrow_c.hpp"
#include "garuda/engine.hpp"
#include "garuda/stored_table.hpp"
#include "garuda/table.hpp"
#include "python/extension/capsules.hpp"
#include "python/reader/reader_library.hpp"

namespace nb = nanobind;

namespace garuda::python {
namespace {

template <class T>
T value_at(ArrayView const& array, std::int64_t row) {
  return load<T>(static_cast<std::byte const*>(array.values), array.offset + row);
}

nb::object bytes_of(std::string_view bytes) { return nb::bytes(bytes.data(), bytes.size()); }

/// Text that is not UTF-8 shows as its bytes.
nb::object text_of(std::string_view bytes) {
  auto* const text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), nullptr);
  if (text != nullptr) return nb::steal(text);
  PyErr_Clear();
  return bytes_of(bytes);
}

nb::object integer_at(ArrayView const& array, TypeRow const& type, std::int64_t row) {
  return visit_integers(type.width, type.is_signed,
                        [&]<class T>(T*) -> nb::object { return nb::int_(value_at<T>(array, row)); });
}

/// The value at a row: None, bool, int, float, str, bytes; those of decimals, intervals and float16 as their bytes,
/// dates and times as their numbers, and Ellipsis for what is nested: garuda/values.py makes more of these. Requires:
/// the row exists, in memory that the host can read.
nb::object cell(ArrayView const& array, DataType const& type, std::int64_t row) {
  if (type.id == TypeId::nested) return nb::borrow(Py_Ellipsis);
  if (array.is_null(row)) return nb::none();
  auto const& type_of = type_row(type.id);
  switch (type_of.family) {
    case TypeFamily::boolean:
      return nb::bool_(get_bit(static_cast<std::uint8_t const*>(array.values), array.offset + row));
    case TypeFamily::floating:
      if (type_of.width == 4) return nb::float_(static_cast<double>(value_at<float>(array, row)));
      if (type_of.width == 8) return nb::float_(value_at<double>(array, row));
      break;
    case TypeFamily::integer:
    case TypeFamily::temporal:
      return integer_at(array, type_of, row);
    case TypeFamily::interval:
      if (type_of.is_signed) return integer_at(array, type_of, row);
      break;
    case TypeFamily::dictionary: {
      auto const index =
          visit_index_type(type.index, [&]<class T>(T*) { return static_cast<std::int64_t>(value_at<T>(array, row)); });
      return cell(*array.dictionary, *type.value, index);
    }
    default:
      break;
  }
  auto const bytes = bytes_at(array, type, array.offset + row);
  return is_text(type.id) ? text_of(bytes) : bytes_of(bytes);
}

constexpr std::int64_t kCellsBetweenSignals = std::int64_t{1} << 16;  // some hundredths of a second

HeldTable hold(Table table, Offsets offsets = Offsets::checked) { return {share(nullptr, std::move(table), offsets)}; }

/// Small tables are checked at once, by this thread; others when a call reads them, by all.
Offsets offsets_of(bool is_small) { return is_small ? Offsets::checked : Offsets::deferred; }

/// Streams that end with this, unless they were read.
struct Streams {
  std::vector<ArrowArrayStream> streams;

  Streams() = default;
  Streams(Streams const&) = delete;
  Streams& operator=(Streams const&) = delete;
  ~Streams() {
    for (auto& stream : streams)
      if (stream.release != nullptr) stream.release(&stream);
  }
};

/// The rows of several streams, one after the other.
Result<Table> import_all(Streams& all, Offsets offsets) {
  Schema schema;
  std::vector<Batch> batches;
  for (auto& stream : all.streams) {
    GARUDA_TRY_ASSIGN(auto const part, import_arrow(&stream, offsets));
    if (&stream != &all.streams.front() && part.schema() != schema)
      return fail(ErrorCode::invalid_input, "parts of a table have different columns");
    schema = part.schema();
    std::ranges::copy(part.batches(), std::back_inserter(batches));
  }
  return Table(std::move(schema), std::move(batches));
}

HeldTable of_streams(nb::list const& capsules, bool is_small) {
  if (capsules.size() == 0) throw nb::value_error("no stream was given");
  auto const watch = watching(nb::none(), is_small);
  auto const offsets = offsets_of(is_small);
  auto const all = std::make_shared<Streams>();
  for (auto const& capsule : capsules) all->streams.push_back(until_cancelled(take_stream(capsule), watch->control()));
  return hold(run(*watch, [watch, all, offsets] { return import_all(*all, offsets); }), offsets);
}

HeldTable of_stream(nb::handle capsule, bool is_small) {
  nb::list one;
  one.append(capsule);
  return of_streams(one, is_small);
}

HeldTable import(ArrowArray array, ArrowSchema schema, bool is_small) {
  auto const watch = watching(nb::none(), is_small);
  return hold(run(*watch, [watch, array, schema]() mutable { return import_arrow(&array, &schema); }));
}

HeldTable of_array(nb::handle schema_capsule, nb::handle array_capsule, bool is_small) {
  auto const schema = take_schema(schema_capsule);
  auto const array = take_array(array_capsule);
  return import(array, schema, is_small);
}

HeldTable of_python_buffers(nb::list const& columns, std::int64_t rows) {
  auto const [array, schema] = of_buffers(columns, rows);
  return import(array, schema, rows <= kSmallRows);
}

Table const& host_rows(HeldTable const& held) {
  if (held.rows->on_device() != nullptr)
    raise(Error(ErrorCode::usage, "the rows are on a device: download() them first"));
  return held.rows->on_host();
}

HeldTable download(HeldTable const& held, nb::object on_progress) {
  if (held.rows->on_device() == nullptr) return held;
  auto const watch = watching(std::move(on_progress));
  auto copied = hold(run(*watch, [watch, rows = held.rows] { return rows->on_device()->download(watch->control()); }));
  copied.origin = held.origin;
  return copied;
}

nb::capsule stream_of(HeldTable const& held) {
  auto const rows = download(held, nb::none()).rows;
  auto const watch = watching(nb::none(), rows->view().num_rows() <= kSmallRows);
  run(*watch, [watch, rows] {
    auto const control = watch->control();
    return rows->checked(0, {}, &control);
  });
  ArrowArrayStream stream;
  export_arrow(std::shared_ptr<Table const>(rows, &rows->on_host()), &stream);
  return to_capsule(stream);
}

/// Rows [begin, begin + count) of `table`, which is kept; whole batches where they are whole.
Table slice_rows(std::shared_ptr<Table const> const& table, std::int64_t begin, std::int64_t count) {
  std::vector<Batch> batches;
  for (auto const& batch : table->batches()) {
    auto const first = std::clamp<std::int64_t>(begin, 0, batch.num_rows);
    auto const last = std::clamp<std::int64_t>(begin + count, 0, batch.num_rows);
    begin -= batch.num_rows;
    if (first >= last) continue;
    Batch part{last - first, {}, table};
    for (auto const& column : batch.columns) part.columns.push_back(slice(column, first, last - first));
    batches.push_back(std::move(part));
  }
  return {table->schema(), std::move(batches)};
}

HeldTable slice_of(HeldTable const& held, std::int64_t begin, std::int64_t count) {
  (void)host_rows(held);
  return hold(slice_rows({held.rows, &held.rows->on_host()}, begin, count), held.rows->offsets());
}

std::vector<HeldTable> batches_of(HeldTable const& held) {
  std::vector<HeldTable> batches;
  std::int64_t begin = 0;
  for (auto const& batch : host_rows(held).batches()) {
    batches.push_back(slice_of(held, begin, batch.num_rows));
    begin += batch.num_rows;
  }
  return batches;
}

/// Values of one column.
nb::list cells_of(HeldTable const& held, std::size_t column) {
  auto const& table = host_rows(held);
  if (column >= table.schema().size()) throw nb::index_error("there is no such column");
  unwrap(held.rows->checked(0, engine::ColumnNames({table.schema()[column].name})));
  nb::list values;
  for (auto const& batch : table.batches())
    for (std::int64_t row = 0; row < batch.num_rows; ++row) {
      if (row % kCellsBetweenSignals == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
      values.append(cell(batch.columns[column], table.schema()[column].type, row));
    }
  return values;
}

/// (name, type, nullable) of each column.
/// Requires: the column is there, on the host.
bool has_nulls(HeldTable const& held, std::size_t column) {
  return std::ranges::any_of(host_rows(held).batches(),
                             [&](Batch const& batch) { return count_nulls(batch.columns[column]) > 0; });
}

/// The columns as queries have them.
Schema const& fields_in(HeldTable const& held) {
  return held.stored == nullptr ? held.rows->view().schema() : held.stored->fields;
}

nb::list fields_of(HeldTable const& held) {
  nb::list fields;
  for (auto const& field : fields_in(held))
    fields.append(nb::make_tuple(field.name, to_string(field.type), field.nullable));
  return fields;
}

template <class Write>
std::optional<std::string> text_of_origin(HeldTable const& held, Write write) {
  if (!held.origin) return std::nullopt;
  return write(*held.origin);
}

HeldTable hold_stored(StoredTable table) {
  auto columns = std::make_shared<StoredColumns const>(StoredColumns{std::move(table.fields), table.files});
  return {share(nullptr, std::move(table.table)), std::nullopt, std::move(columns)};
}

// --- files of the tables of a plan -----------------------------------------------------------------------------------

Result<ReaderLibrary const*> load_reader() {
  std::string reasons;
  for (auto const& file : os::own_library_files("garuda_reader")) {
    auto const library = os::LoadedLibrary::load(file);
    if (!library) {
      reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", library.error().message());
      continue;
    }
    GARUDA_TRY_ASSIGN(auto* const function, library->find(kReaderFunction));
    auto const* const reader = reinterpret_cast<ReaderFunction>(function)();
    if (std::string_view(reader->version) == GARUDA_VERSION) return reader;
    reasons += fmt::format("{} is of garuda {}", file.string(), reader->version);
  }
  return fail(ErrorCode::usage, reasons);
}

/// The library once it is loaded; nullptr before.
std::atomic<ReaderLibrary const*> loaded_reader = nullptr;

/// Loads the library once; pyarrow, whose libraries it needs, has been imported.
Result<ReaderLibrary const*> reader() {
  static Result<ReaderLibrary const*> const loaded = load_reader();
  if (loaded) loaded_reader = *loaded;
  return loaded;
}

/// Why files are not read by the library; nullopt: they are.
std::optional<std::string> reader_failure() {
  auto const& loaded = reader();
  return loaded ? std::nullopt : std::optional(loaded.error().message());
}

/// The paths of a table's files, the columns that are read, and a test of the rows.
using ReadOfTable = std::tuple<std::vector<std::string>, std::vector<std::string>, RowTest>;

/// Reads the files of tables. `spills`: their rows go to mapped files, not to memory. Requires: the library could be
/// loaded.
std::vector<HeldTable> read_files(std::vector<ReadOfTable> tables, std::uint32_t threads, bool spills) {
  auto const* const library = unwrap(reader());
  std::vector<FilesToRead> wanted;
  for (auto& [paths, columns, rows] : tables) {
    io::TableFiles files;
    files.name = paths.front();
    for (auto const& path : paths) files.files.push_back({path, {}});
    wanted.push_back({std::move(files), std::move(columns), std::move(rows)});
  }
  io::ReadOptions options;
  options.threads = threads;
  if (spills) options.spill_folder.emplace(std::nullopt);
  auto const watch = watching();
  auto parts = run(*watch, [watch, library, wanted = std::move(wanted), options]() mutable {
    options.cancelled = watch->control().cancelled;
    return library->read(wanted, options);
  });
  std::vector<HeldTable> read;
  for (auto& part : parts) read.push_back(hold_stored({std::move(part.table), std::move(part.fields), part.files}));
  return read;
}

/// Requires: the rows are on the host.
HeldTable store_table(HeldTable const& held, std::uint32_t threads, nb::object on_progress) {
  (void)host_rows(held);
  auto const watch = watching(std::move(on_progress));
  return hold_stored(run(*watch, [watch, rows = held.rows, threads]() -> Result<StoredTable> {
    auto const control = watch->control();
    GARUDA_TRY_ASSIGN(auto const checked, rows->checked(threads, {}, &control));
    return store(checked, {threads, control});
  }));
}

/// The tables of a plan that it reads: their names, columns, and the test of the rows.
std::vector<std::tuple<std::string, std::vector<std::string>, RowTest>> tables_of_plan(
    nb::bytes const& plan, std::vector<std::pair<std::string, HeldTable>> const& tables) {
  FindTable const find = [&](std::string const& name) -> Result<ScannedTable> {
    for (auto const& [known, table] : tables)
      if (known == name) return ScannedTable(table.rows->view());
    return fail(ErrorCode::invalid_input, fmt::format("the plan reads a table that it was not given: {}", name));
  };
  auto const message = std::as_bytes(std::span(plan.c_str(), plan.size()));
  std::vector<std::tuple<std::string, std::vector<std::string>, RowTest>> read;
  for (auto& table : unwrap(Engine::tables_of_substrait(message, find)))
    read.emplace_back(std::move(table.name), std::move(table.columns), std::move(table.rows));
  return read;
}

}  // namespace

SharedEngine share(Engine engine) { return {new Engine(std::move(engine)), destroy_unless_forked<Engine>}; }

SharedRows share(SharedEngine engine, Rows::Place place, Offsets offsets) {
  return {new Rows(std::move(engine), std::move(place), offsets), destroy_unless_forked<Rows>};
}

void release_reader_memory() {
  if (auto const* const library = loaded_reader.load()) library->release_memory();
}

void bind_tables(nb::module_& module) {
  nb::class_<HeldTable>(module, "Table")
      .def_static("of_stream", of_stream, nb::arg("capsule"), nb::arg("is_small") = false)
      .def_static("of_streams", of_streams, nb::arg("capsules"), nb::arg("is_small") = false)
      .def_static("of_array", of_array, nb::arg("schema"), nb::arg("array"), nb::arg("is_small") = false)
      .def_static("of_buffers", of_python_buffers, nb::arg("columns"), nb::arg("rows"))
      .def_prop_ro("num_rows", [](HeldTable const& held) { return held.rows->view().num_rows(); })
      .def_prop_ro("device",
                   [](HeldTable const& held) {
                     auto const* const on_device = held.rows->on_device();
                     return on_device == nullptr ? std::nullopt : std::optional(on_device->device());
                   })
      .def_prop_ro("device_bytes",
                   [](HeldTable const& held) {
                     auto const* const on_device = held.rows->on_device();
                     return on_device == nullptr ? 0 : on_device->device_bytes();
                   })
      .def("fields", fields_of)
      .def("cells", cells_of, nb::arg("column"))
      .def("has_nulls", has_nulls, nb::arg("column"))
      .def("batches", batches_of)
      .def("slice", slice_of, nb::arg("begin"), nb::arg("count"))
      .def("download", download, nb::arg("on_progress").none())
      .def("stream", stream_of)
      .def("schema", [](HeldTable const& held) { return schema_capsule(fields_in(held)); })
      .def("plan_text",
           [](HeldTable const& held) {
             return text_of_origin(held, [](Origin const& origin) { return to_string(origin.plan); });
           })
      .def("plan_json",
           [](HeldTable const& held) {
             return text_of_origin(held, [](Origin const& origin) { return to_json(origin.plan); });
           })
      .def("stats_json", [](HeldTable const& held) {
        return text_of_origin(held, [](Origin const& origin) { return to_json(origin.stats); });
      });
  nb::class_<RowTest>(module, "RowTest").def_prop_ro("passes_all", &RowTest::passes_all);
  module.def("reader_failure", reader_failure);
  module.def("read_files", read_files, nb::arg("tables"), nb::arg("threads"), nb::arg("spills"));
  module.def("store", store_table, nb::arg("table"), nb::arg("threads"), nb::arg("on_progress").none());
  module.def("tables_of_plan", tables_of_plan, nb::arg("plan"), nb::arg("tables"));
}

}  // namespace garuda::python
