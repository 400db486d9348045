#include "operators/cpu/group_by/cpu_group_by.hpp"

#include <algorithm>
#include <utility>

#include "operators/cpu/group_by/cpu_aggregates.hpp"
#include "operators/cpu/group_by/group_rows.hpp"

namespace garuda::cpu {
namespace {

class CpuGroupByKernel final : public contract::GroupByKernel {
 public:
  CpuGroupByKernel(contract::GroupSlice const& slice, Control const* control, contract::StatsSink* stats)
      : slice_(slice), control_(control), stats_(stats) {}

  Result<std::uint64_t> group() override {
    contract::PhaseTimer const timer(stats_, "group", slice_.num_rows * 4, slice_.num_rows);
    GARUDA_TRY_ASSIGN(groups_, group_rows(slice_, control_));
    return groups_.heads.size();
  }

  Result<std::span<std::uint32_t const>> heads() override { return groups_.heads; }

  Result<void> group_ids(std::span<std::uint32_t> out) override {
    GARUDA_EXPECTS(out.size() == groups_.ids.size());
    std::copy(groups_.ids.begin(), groups_.ids.end(), out.begin());
    return {};
  }

  Result<contract::AggregateState> aggregate(contract::AggregateInput const& input) override {
    contract::PhaseTimer const timer(stats_, "aggregate", input.values.size_bytes() + slice_.num_rows * 4,
                                     slice_.num_rows);
    return aggregate_rows(input, groups_.ids, groups_.heads.size(), control_);
  }

 private:
  contract::GroupSlice slice_;
  Control const* control_;
  contract::StatsSink* stats_;
  RowGroups groups_;
};

class CpuGroupByBackend final : public contract::GroupByBackend {
 public:
  explicit CpuGroupByBackend(contract::GroupByBackendOptions const& options)
      : control_(options.control), stats_(options.stats) {}

  Result<std::unique_ptr<contract::GroupByKernel>> begin(contract::GroupSlice const& slice, std::uint32_t) override {
    return std::make_unique<CpuGroupByKernel>(slice, control_, stats_);
  }

 private:
  Control const* control_;
  contract::StatsSink* stats_;
};

}  // namespace

Result<std::unique_ptr<contract::GroupByBackend>> open_cpu_group_by(contract::GroupByBackendOptions const& options) {
  return std::make_unique<CpuGroupByBackend>(options);
}

}  // namespace garuda::cpu
