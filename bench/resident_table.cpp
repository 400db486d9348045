#include "bench/resident_table.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace garuda::bench {
namespace {

template <class T>
Result<void> add_column(ComputeBench& bench, TableBuilder& builder, std::string name, vk::Buffer const& buffer,
                        std::uint64_t rows) {
  std::vector<T> values(rows);
  if (rows > 0) GARUDA_TRY(bench.context().download(buffer, std::as_writable_bytes(std::span(values))));
  return builder.add_column<T>(std::move(name), [&](std::uint64_t row) { return values[row]; });
}

}  // namespace

Result<ResidentTable> upload_table(ComputeBench& bench, Table const& table) {
  ResidentTable resident;
  resident.rows.rows = static_cast<std::uint64_t>(table.num_rows());
  for (std::size_t c = 0; c < table.schema().size(); ++c) {
    auto const width = static_cast<std::uint64_t>(byte_width(table.schema()[c].type));
    auto const* const values = static_cast<std::byte const*>(table.batches()[0].columns[c].values);
    GARUDA_TRY_ASSIGN(auto buffer, bench.upload({values, resident.rows.rows * width}, "column"));
    operators::DeviceColumn const column{buffer.address(), static_cast<std::uint32_t>(width / 4)};
    resident.columns.push_back(std::move(buffer));
    if (c == 0) {
      resident.rows.keys = column;
    } else {
      resident.rows.payload.push_back(column);
    }
  }
  return resident;
}

Result<void> download_column(ComputeBench& bench, TableBuilder& builder, std::string name, DataType const& type,
                             vk::Buffer const& buffer, std::uint64_t rows) {
  return byte_width(type) == 4 ? add_column<std::int32_t>(bench, builder, std::move(name), buffer, rows)
                               : add_column<std::int64_t>(bench, builder, std::move(name), buffer, rows);
}

}  // namespace garuda::bench
