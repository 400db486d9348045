// Arrow arrays from JSON, and tables there and back, for the tests of io/.
#pragma once

#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/arrow_bridge.hpp"
#include "io/table_reader.hpp"
#include "io/table_writer.hpp"

namespace garuda::io::testing {

/// A folder of its own, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto name = (std::filesystem::temp_directory_path() / "garuda-io-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;

  std::filesystem::path operator/(std::string const& name) const { return path_ / name; }
  std::filesystem::path const& path() const { return path_; }
  /// Names of the files in it, hidden ones too.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::filesystem::path path_;
};

/// Has permissions count for the superuser, too, during its lifetime.
class OrdinaryUser {
 public:
  OrdinaryUser() {
    constexpr uid_t kNobody = 65534;
    if (user_ == 0 && ::seteuid(kNobody) != 0) throw std::runtime_error("cannot become an ordinary user");
  }
  ~OrdinaryUser() {
    if (::seteuid(user_) != 0) std::abort();
  }
  OrdinaryUser(OrdinaryUser const&) = delete;
  OrdinaryUser& operator=(OrdinaryUser const&) = delete;

 private:
  uid_t user_ = ::geteuid();
};

inline void write_text(std::filesystem::path const& path, std::string const& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::shared_ptr<arrow::Array> array(std::shared_ptr<arrow::DataType> const& type, std::string const& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

struct Column {
  std::string name;
  std::shared_ptr<arrow::Array> values;
};

inline std::shared_ptr<arrow::RecordBatch> batch(std::vector<Column> const& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (auto const& column : columns) {
    fields.push_back(arrow::field(column.name, column.values->type()));
    arrays.push_back(column.values);
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), arrays.front()->length(), arrays);
}

/// Requires: `batches` is not empty.
inline Table to_garuda(ArrowBatches batches) {
  auto const schema = batches.front()->schema();
  auto table = to_table(schema, std::move(batches));
  if (!table) throw std::runtime_error(table.error().describe());
  return *std::move(table);
}

inline std::shared_ptr<arrow::Table> to_arrow(Table const& table) {
  ArrowBatches batches;
  for (auto const& rows : table.batches()) batches.push_back(to_arrow_batch(table.schema(), rows).value());
  auto const schema = to_arrow_schema(table.schema()).value();
  return arrow::Table::FromRecordBatches(schema, batches).ValueOrDie()->CombineChunks().ValueOrDie();
}

/// Writes all batches; the error of whatever failed first.
inline Result<std::uint64_t> write_table(std::filesystem::path const& path, Table const& table,
                                         WriteOptions const& options = {}) {
  GARUDA_TRY_ASSIGN(auto writer, TableWriter::open(path, table.schema(), options));
  for (auto const& rows : table.batches()) GARUDA_TRY(writer.write(rows));
  GARUDA_TRY_ASSIGN(auto const bytes, writer.finish());
  GARUDA_TRY(writer.commit());
  return bytes;
}

}  // namespace garuda::io::testing
