#include "bench/gpu/resident_path.hpp"

#include <fmt/format.h>

#include <utility>

namespace garuda::bench {
namespace {

DataType result_type(AggregateFunction function, DataType const& values) {
  bool const is_extreme = function == AggregateFunction::min || function == AggregateFunction::max;
  bool const is_float =
      function == AggregateFunction::mean || (function == AggregateFunction::sum && values.id == TypeId::float64);
  return is_extreme ? values : DataType{is_float ? TypeId::float64 : TypeId::int64};
}

}  // namespace

Result<UploadedTable> ResidentPath::upload(Table const& table, Sharing sharing) {
  UploadedTable uploaded{static_cast<std::uint64_t>(table.num_rows()), table.schema(), {}};
  for (std::size_t c = 0; c < uploaded.schema.size(); ++c) {
    auto const* const values = static_cast<std::byte const*>(table.batches()[0].columns[c].values);
    GARUDA_TRY_ASSIGN(auto column, upload_column({values, uploaded.rows * uploaded.width(c)}, sharing));
    uploaded.columns.push_back(std::move(column));
  }
  return uploaded;
}

Result<UploadedTable> ResidentPath::open_shared(UploadedTable const& table) {
  UploadedTable opened{table.rows, table.schema, {}};
  for (auto const& column : table.columns) {
    if (!column.share) return fail(ErrorCode::no_device, "this device memory was not made to be shared");
    GARUDA_TRY_ASSIGN(auto memory, column.share());
    GARUDA_TRY_ASSIGN(auto own, open_column(std::move(memory)));
    opened.columns.push_back(std::move(own));
  }
  return opened;
}

Result<UploadedColumn> ResidentPath::open_column(SharedMemory) {
  return fail(ErrorCode::no_device, fmt::format("path {} does not open memory of other paths", to_string(path())));
}

Schema joined_schema(UploadedTable const& left, UploadedTable const& right) {
  auto schema = left.schema;
  schema.insert(schema.end(), right.schema.begin() + 1, right.schema.end());
  return schema;
}

Schema grouped_schema(UploadedTable const& table, std::vector<AggregateFunction> const& functions) {
  Schema schema(table.schema.begin(), table.schema.end() - 1);
  for (auto const function : functions)
    schema.push_back(
        {fmt::format("{}_v", to_string(function)), result_type(function, table.schema.back().type), false});
  return schema;
}

std::vector<Result<std::unique_ptr<ResidentPath>>> open_resident_paths(std::span<Choice const> choices,
                                                                       std::optional<std::string> const& device) {
  std::vector<std::optional<Result<std::unique_ptr<ResidentPath>>>> opened(choices.size());
  // Compute first: CUDA then opens the same GPU.
  std::optional<DeviceUuid> uuid;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].path != Path::compute) continue;
    opened[i] = open_compute_path(device.value_or("auto"), choices[i].tuning);
    if (*opened[i] && !uuid) uuid = (**opened[i])->uuid();
  }
  std::vector<Result<std::unique_ptr<ResidentPath>>> all;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].path == Path::cuda) opened[i] = open_cuda_path(device, uuid, choices[i].tuning);
    if (!opened[i])
      opened[i] = fail(ErrorCode::usage,
                       fmt::format("--mode resident has the paths compute and cuda: {}", to_string(choices[i].path)));
    all.push_back(std::move(*opened[i]));
  }
  return all;
}

}  // namespace garuda::bench
