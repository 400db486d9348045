// Tables in device memory, for the benchmarks of mode resident.
#pragma once

#include <string>
#include <vector>

#include "bench/compute_bench.hpp"
#include "bench/table_builder.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/compute/partitioned_side.hpp"

namespace garuda::bench {

/// A table's columns on the device, the first the keys. Owns them.
struct ResidentTable {
  std::vector<vk::Buffer> columns;
  operators::DeviceRows rows;
};

/// Copies a table of one batch, its columns 4 or 8 bytes wide without nulls. Errors: out_of_memory, device_failure.
Result<ResidentTable> upload_table(ComputeBench& bench, Table const& table);

/// Adds `rows` values of a device column to a table of the host, as integers of the width of `type`.
Result<void> download_column(ComputeBench& bench, TableBuilder& builder, std::string name, DataType const& type,
                             vk::Buffer const& buffer, std::uint64_t rows);

}  // namespace garuda::bench
