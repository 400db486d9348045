#include "operators/cpu/cpu_path.hpp"

#include "operators/cpu/cpu_group_by.hpp"
#include "operators/cpu/cpu_group_by_offers.hpp"
#include "operators/cpu/cpu_join.hpp"
#include "operators/cpu/cpu_join_offers.hpp"
#include "operators/cpu/whole_group_by.hpp"

namespace garuda::operators {
namespace {

/// Probe rows of a slice: what they found stays in a second-level cache until its pairs are written.
constexpr std::uint64_t kProbeSliceRows = std::uint64_t{1} << 16;

}  // namespace

/// Tables narrow the range of their keys themselves while they have these in their caches.
PathRow const kCpuPath{
    .path = Path::cpu,
    .name = "cpu",
    .join = {.offers = cpu_join_offers,
             .open = [](OpenDevice, BackendOptions const& options) { return open_cpu_join(options); },
             .feeding = {.makes_batches = true,
                         .wants_ranges = false,
                         .probe_slice_rows = kProbeSliceRows,
                         .forks = true,
                         .host_bytes = [](auto... rows) { return cpu_join_bytes(rows...); }}},
    .group_by = {.offers = cpu_group_by_offers,
                 .open = [](OpenDevice, GroupByBackendOptions const& options) { return open_cpu_group_by(options); },
                 .whole_sizes = whole_sizes,
                 .open_whole = open_cpu_whole_group_by}};

}  // namespace garuda::operators
