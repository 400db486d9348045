#include "operators/cuda/cuda_group_by.hpp"

#include <utility>
#include <vector>

#include "operators/cuda/cuda_lane.hpp"

namespace garuda::cuda {
namespace {

static_assert(static_cast<int>(contract::ValueKind::none) == GARUDA_CUDA_NONE);
static_assert(static_cast<int>(contract::ValueKind::int32) == GARUDA_CUDA_INT32);
static_assert(static_cast<int>(contract::ValueKind::uint32) == GARUDA_CUDA_UINT32);
static_assert(static_cast<int>(contract::ValueKind::int64) == GARUDA_CUDA_INT64);
static_assert(static_cast<int>(contract::ValueKind::uint64) == GARUDA_CUDA_UINT64);
static_assert(static_cast<int>(contract::ValueKind::int128) == GARUDA_CUDA_INT128);
static_assert(static_cast<int>(contract::ValueKind::float32) == GARUDA_CUDA_FLOAT32);
static_assert(static_cast<int>(contract::ValueKind::float64) == GARUDA_CUDA_FLOAT64);
static_assert(static_cast<int>(GroupMethod::hash) == GARUDA_CUDA_GROUP_HASH);
static_assert(static_cast<int>(GroupMethod::partitioned) == GARUDA_CUDA_GROUP_PARTITIONED);
static_assert(static_cast<int>(GroupMethod::sorted) == GARUDA_CUDA_GROUP_SORTED);
static_assert(contract::kCountState == GARUDA_CUDA_COUNT && contract::kSumState == GARUDA_CUDA_SUM &&
              contract::kMinState == GARUDA_CUDA_MIN && contract::kMaxState == GARUDA_CUDA_MAX);

/// The plug-in's groups behind the contract.
class CudaGroupKernel final : public contract::GroupByKernel {
 public:
  CudaGroupKernel(CudaLane& lane, GarudaCudaGroups* groups) : api_(lane.api()), groups_(groups) {}
  CudaGroupKernel(CudaGroupKernel const&) = delete;
  CudaGroupKernel& operator=(CudaGroupKernel const&) = delete;
  ~CudaGroupKernel() override { api_.end_groups(groups_); }

  Result<std::uint64_t> group() override {
    GARUDA_TRY(call(api_.find_groups, groups_, &num_groups_));
    return num_groups_;
  }

  Result<std::span<std::uint32_t const>> heads() override {
    heads_.resize(num_groups_);
    GARUDA_TRY(call(api_.group_heads, groups_, heads_.size(), heads_.data()));
    return heads_;
  }

  Result<void> group_ids(std::span<std::uint32_t> out) override {
    return call(api_.group_ids, groups_, out.size(), out.data());
  }

  Result<contract::AggregateState> aggregate(contract::AggregateInput const& input) override;

 private:
  GarudaCudaApi const& api_;
  GarudaCudaGroups* groups_;
  std::uint64_t num_groups_ = 0;
  std::vector<std::uint32_t> heads_;
};

Result<contract::AggregateState> CudaGroupKernel::aggregate(contract::AggregateInput const& input) {
  GarudaCudaAggregate column{};
  column.values = input.values.data();
  column.validity = input.validity.empty() ? nullptr : input.validity.data();
  column.kind = static_cast<std::uint32_t>(input.kind);
  column.states = input.states;
  std::uint64_t windows = 0;
  GARUDA_TRY(call(api_.aggregate, groups_, &column, &windows));
  contract::AggregateState state;
  GarudaCudaStates targets{};
  auto const has = [&](contract::StateSet bit) { return (input.states & bit) != 0; };
  auto const take = [](contract::Words& words, std::uint64_t count) {
    words.resize(count);
    return words.data();
  };
  if (has(contract::kCountState)) targets.counts = take(state.counts, num_groups_);
  if (has(contract::kMinState)) targets.minima = take(state.minima, num_groups_ * contract::extreme_words(input.kind));
  if (has(contract::kMaxState)) targets.maxima = take(state.maxima, num_groups_ * contract::extreme_words(input.kind));
  if (has(contract::kSumState) && contract::is_float(input.kind)) {
    auto& sums = state.float_sums;
    sums.flags.resize(num_groups_);
    sums.first_window.resize(num_groups_);
    targets.flags = sums.flags.data();
    targets.first_window = sums.first_window.data();
    targets.offsets = take(sums.offsets, num_groups_ + 1);
    targets.windows = take(sums.windows, 2 * windows);
  } else if (has(contract::kSumState)) {
    targets.sums = take(state.sums, num_groups_ * contract::sum_words(input.kind));
  }
  GARUDA_TRY(call(api_.fetch_states, groups_, &targets));
  return state;
}

Result<std::unique_ptr<contract::GroupByKernel>> begin_groups(CudaLane& lane,
                                                              contract::GroupByBackendOptions const& options,
                                                              contract::GroupSlice const& slice) {
  GARUDA_EXPECTS(slice.num_rows >= 1 && slice.num_rows <= contract::kMaxPassRows);
  GarudaCudaGroupSlice rows{};
  rows.num_rows = static_cast<std::uint32_t>(slice.num_rows);
  rows.expected_groups = options.expected_groups;
  rows.shared_low_bits = slice.shared_low_bits;
  rows.allow_direct = options.tuning.address == Address::hash ? 0 : 1;
  rows.force_direct = options.tuning.address == Address::direct ? 1 : 0;
  // Another path's.
  auto const method = options.tuning.method;
  rows.method = method == GroupMethod::shared ? 0 : static_cast<std::uint32_t>(method);
  std::vector<std::uint32_t const*> words;
  if (auto const* const keys = std::get_if<contract::KeySpan>(&slice.keys)) {
    rows.keys = std::visit([](auto const& span) { return static_cast<void const*>(span.data()); }, keys->words);
    rows.key_bits = std::holds_alternative<std::span<std::uint32_t const>>(keys->words) ? 32 : 64;
    rows.min_key = keys->min;
    rows.max_key = keys->max;
  } else if (auto const* const several = std::get_if<contract::KeyWords>(&slice.keys)) {
    for (auto const& column : several->words) words.push_back(column.data());
    rows.words = words.data();
    rows.num_words = static_cast<std::uint32_t>(words.size());
    rows.force_direct = 0;
  }
  GarudaCudaGroups* groups = nullptr;
  GARUDA_TRY(call(lane.api().begin_groups, lane.handle(), &rows, &groups));
  return std::make_unique<CudaGroupKernel>(lane, groups);
}

}  // namespace

Result<std::unique_ptr<contract::GroupByBackend>> open_cuda_group_by(CudaDevice& device,
                                                                     contract::GroupByBackendOptions const& options) {
  using Backend = CudaBackend<contract::GroupByBackend, contract::GroupByKernel, contract::GroupSlice,
                              contract::GroupByBackendOptions>;
  return Backend::open(device, options, begin_groups);
}

std::uint64_t cuda_group_by_bytes(std::uint64_t rows, std::uint32_t key_words, std::uint32_t value_words) {
  // cuda_backend/group_by/groups.cu. While rows are grouped: keys and slots; keys twice more while they are partitioned
  // or sorted; row numbers, slots of positions, a word to spare and one table, 4 bytes for each of at most four slots;
  // flags, numbers, ids. Then ids and heads, values with validity, and for as many groups as rows: seven accumulators,
  // sums, two wide extremes and three windows of floats.
  auto const grouping = 3 * 4 * std::uint64_t{key_words} + 4 + 7 * 4 + 12;
  auto const aggregating = 8 + 4 * std::uint64_t{value_words} + 1 + 7 * 8 + 4 * 8 + 2 * 3 * 8 + 3 * 16;
  return rows * std::max(grouping, aggregating);
}

}  // namespace garuda::cuda
