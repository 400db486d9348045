#include "operators/cpu/group_by/cpu_group_by.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
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
    auto const start = std::chrono::steady_clock::now();
    GARUDA_TRY_ASSIGN(groups_, group_rows(slice_, control_));
    report("group", start, slice_.num_rows * 4);
    return groups_.heads.size();
  }

  Result<void> heads(std::span<std::uint32_t> out) override {
    GARUDA_EXPECTS(out.size() == groups_.heads.size());
    std::copy(groups_.heads.begin(), groups_.heads.end(), out.begin());
    return {};
  }

  Result<void> group_ids(std::span<std::uint32_t> out) override {
    GARUDA_EXPECTS(out.size() == groups_.ids.size());
    std::copy(groups_.ids.begin(), groups_.ids.end(), out.begin());
    return {};
  }

  Result<contract::AggregateState> aggregate(contract::AggregateInput const& input) override {
    auto const start = std::chrono::steady_clock::now();
    GARUDA_TRY_ASSIGN(auto state, aggregate_rows(input, groups_.ids, groups_.heads.size(), control_));
    report("aggregate", start, input.values.size_bytes() + slice_.num_rows * 4);
    return state;
  }

 private:
  void report(std::string_view phase, std::chrono::steady_clock::time_point start, std::uint64_t bytes) const {
    if (stats_ == nullptr) return;
    std::chrono::nanoseconds const elapsed = std::chrono::steady_clock::now() - start;
    stats_->add_phase(phase, static_cast<std::uint64_t>(elapsed.count()), bytes, slice_.num_rows);
  }

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
