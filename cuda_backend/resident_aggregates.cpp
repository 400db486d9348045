#include "cuda_backend/resident_aggregates.hpp"

#include <utility>

#include "cuda_backend/group_results.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

bool is_float(GarudaCudaValueKind kind) { return kind == GARUDA_CUDA_FLOAT32 || kind == GARUDA_CUDA_FLOAT64; }

std::uint32_t states_of(std::uint32_t function) {
  switch (function) {
    case GARUDA_CUDA_FUNCTION_COUNT:
      return GARUDA_CUDA_COUNT;
    case GARUDA_CUDA_FUNCTION_SUM:
      return GARUDA_CUDA_SUM;
    case GARUDA_CUDA_FUNCTION_MIN:
      return GARUDA_CUDA_MIN;
    case GARUDA_CUDA_FUNCTION_MAX:
      return GARUDA_CUDA_MAX;
    default:
      return GARUDA_CUDA_SUM | GARUDA_CUDA_COUNT;
  }
}

}  // namespace

ResidentAggregates::ResidentAggregates(Lane& lane, GarudaCudaColumn const& key, std::uint32_t rows,
                                       std::vector<GarudaCudaResidentAggregate> aggregates,
                                       std::uint64_t expected_groups)
    : lane_(lane),
      launch_{lane.stream(), lane.device().traits().multiprocessors},
      key_(key),
      rows_(rows),
      aggregates_(std::move(aggregates)),
      expected_groups_(expected_groups) {}

Result<GarudaCudaResidentGroups> ResidentAggregates::run() {
  results_.clear();
  keys_out_.reset();
  if (rows_ == 0) return GarudaCudaResidentGroups{};
  GarudaCudaGroupSlice slice{};
  slice.keys = reinterpret_cast<void const*>(key_.address);
  slice.num_rows = rows_;
  slice.key_bits = 8 * key_.bytes;
  slice.expected_groups = expected_groups_;
  Groups groups(lane_, slice, Groups::Source::device);
  GarudaCudaResidentGroups found{};
  GARUDA_TRY_ASSIGN(found.groups, groups.find());
  GARUDA_TRY_ASSIGN(keys_out_, keys_of(groups));
  found.key = {reinterpret_cast<std::uint64_t>(keys_out_.as<void>()), key_.bytes};
  for (std::size_t a = 0; a < aggregates_.size(); ++a) {
    GARUDA_TRY_ASSIGN(auto column, compute(groups, aggregates_[a]));
    found.results[a] = reinterpret_cast<std::uint64_t>(column.as<void>());
    results_.push_back(std::move(column));
  }
  GARUDA_TRY(lane_.wait());
  return found;
}

Result<Buffer> ResidentAggregates::keys_of(Groups const& groups) {
  GARUDA_TRY(lane_.step("keys", std::uint64_t{groups.num_groups()} * 2 * key_.bytes, groups.num_groups()));
  GARUDA_TRY_ASSIGN(auto keys, lane_.allocate(std::uint64_t{groups.num_groups()} * key_.bytes, "keys of groups"));
  auto const* const heads = groups.device_heads();
  if (key_.bytes == 4) {
    GARUDA_CUDA_TRY(gather_keys(launch_, reinterpret_cast<std::uint32_t const*>(key_.address), heads,
                                groups.num_groups(), keys.as<std::uint32_t>()));
  } else {
    GARUDA_CUDA_TRY(gather_keys(launch_, reinterpret_cast<std::uint64_t const*>(key_.address), heads,
                                groups.num_groups(), keys.as<std::uint64_t>()));
  }
  return keys;
}

Result<Buffer> ResidentAggregates::compute(Groups& groups, GarudaCudaResidentAggregate const& aggregate) {
  GarudaCudaAggregate input{};
  input.values = reinterpret_cast<std::uint32_t const*>(aggregate.values);
  input.kind = aggregate.function == GARUDA_CUDA_FUNCTION_COUNT ? std::uint32_t{GARUDA_CUDA_NONE} : aggregate.kind;
  input.states = states_of(aggregate.function);
  GARUDA_TRY(groups.aggregate(input));
  auto const& states = groups.states();
  GARUDA_TRY(lane_.step("finish", 0, groups.num_groups()));
  GARUDA_TRY_ASSIGN(auto out, lane_.allocate(std::uint64_t{groups.num_groups()} * 8, "column of groups"));
  switch (aggregate.function) {
    case GARUDA_CUDA_FUNCTION_COUNT:
      GARUDA_CUDA_TRY(cudaMemcpyAsync(out.as<void>(), groups.accumulator(states.layout.count), out.bytes(),
                                      cudaMemcpyDeviceToDevice, lane_.stream()));
      break;
    case GARUDA_CUDA_FUNCTION_MIN:
      GARUDA_CUDA_TRY(finish_extremes(launch_, groups.accumulator(states.layout.min), states.kind, groups.num_groups(),
                                      out.as<void>()));
      break;
    case GARUDA_CUDA_FUNCTION_MAX:
      GARUDA_CUDA_TRY(finish_extremes(launch_, groups.accumulator(states.layout.max), states.kind, groups.num_groups(),
                                      out.as<void>()));
      break;
    default:
      GARUDA_TRY(finish_sum(groups, aggregate, out));
  }
  return out;
}

Result<void> ResidentAggregates::finish_sum(Groups const& groups, GarudaCudaResidentAggregate const& aggregate,
                                            Buffer& out) {
  auto const& states = groups.states();
  bool const is_mean = aggregate.function == GARUDA_CUDA_FUNCTION_MEAN;
  auto const* const counts = is_mean ? groups.accumulator(states.layout.count) : nullptr;
  auto* const words = out.as<std::uint64_t>();
  if (is_float(states.kind)) {
    FloatWindows const sums{states.windows.as<std::uint64_t>(), states.offsets.as<std::uint64_t>(),
                            states.first_windows.as<std::uint8_t>(), states.flags.as<std::uint8_t>()};
    GARUDA_CUDA_TRY(finish_float_sums(launch_, sums, states.kind, counts, groups.num_groups(), words));
    return {};
  }
  auto const* const sums = states.sums.as<std::uint64_t>();
  if (is_mean) {
    GARUDA_CUDA_TRY(finish_rounded(launch_, {sums, 2}, 0, counts, groups.num_groups(), words));
    return {};
  }
  GARUDA_TRY_ASSIGN(auto const overflow, lane_.allocate(4, "overflow"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(overflow.as<void>(), 0, 4, lane_.stream()));
  GARUDA_CUDA_TRY(finish_sums(launch_, sums, states.kind, groups.num_groups(), words, overflow.as<std::uint32_t>()));
  std::uint32_t overflowed = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&overflowed, 1)), overflow.as<void>()));
  if (overflowed != 0) return fail(ErrorCode::limit_exceeded, "the sum of a group is beyond 64 bits");
  return {};
}

}  // namespace garuda::cuda_backend
