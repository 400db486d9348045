#include "operators/cpu/cpu_path.hpp"

#include "operators/cpu/condition_join/condition_join.hpp"
#include "operators/cpu/group_by/cpu_group_by.hpp"
#include "operators/cpu/group_by/grouping_strategies.hpp"
#include "operators/cpu/group_by/growing_groups.hpp"
#include "operators/cpu/group_by/whole_group_by.hpp"
#include "operators/cpu/join/cpu_join.hpp"
#include "operators/cpu/join/join_strategies.hpp"

namespace garuda::cpu {
namespace {

/// Probe rows of a slice: what they found stays in a second-level cache until its pairs are written.
constexpr std::uint64_t kProbeSliceRows = std::uint64_t{1} << 16;

}  // namespace

/// Tables narrow the range of their keys themselves while they have these in their caches.
contract::PathRow const kCpuPath{
    .path = Path::cpu,
    .name = "cpu",
    .join = {.offers = cpu_join_offers,
             .open = [](contract::OpenDevice*,
                        contract::BackendOptions const& options) { return open_cpu_join(options); },
             .feeding = {.makes_batches = true,
                         .wants_ranges = false,
                         .probe_slice_rows = kProbeSliceRows,
                         .forks = true,
                         .host_bytes = [](auto... rows) { return cpu_join_bytes(rows...); }},
             .build_tables = build_join_tables},
    .condition_join =
        {.offers = cpu_condition_offers,
         .open = [](contract::OpenDevice*, contract::BackendOptions const& options,
                    expr::PairCondition const& condition) { return open_cpu_condition_join(options, condition); },
         .feeding = {.makes_batches = true,
                     .wants_ranges = false,
                     .probe_slice_rows = kProbeSliceRows,
                     .forks = true,
                     .host_bytes = [](std::uint64_t build_rows, std::uint64_t probe_rows,
                                      std::uint32_t) { return cpu_condition_join_bytes(build_rows, probe_rows); }}},
    .group_by = {.offers = cpu_group_by_offers,
                 .open = [](contract::OpenDevice*,
                            contract::GroupByBackendOptions const& options) { return open_cpu_group_by(options); },
                 .whole_sizes = whole_sizes,
                 .open_whole = open_cpu_whole_group_by,
                 .open_growing = open_cpu_growing_groups}};

}  // namespace garuda::cpu
