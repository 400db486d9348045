// Offers of paths for a query: candidates, priced and sized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"
#include "operators/contract/offers/machine.hpp"
#include "operators/contract/offers/shapes.hpp"
#include "operators/contract/sizing.hpp"

namespace garuda::contract {

/// Where an operator reads its rows.
enum class TableSource : std::uint8_t {
  slices,    ///< pieces of the host's tables go through the path's kernels, one after the other
  resident,  ///< the columns live on the device
  upload,    ///< the columns of the host's tables go to the device first
  ranges,    ///< likewise, but the probe side goes there in ranges, and earlier ones are joined meanwhile
};

/// One strategy to run a query, whichever operator's. PathRow has the functions that run it.
struct Offer {
  Offer() = default;
  Offer(Offer const&) = default;
  Offer(Offer&&) = default;
  Offer& operator=(Offer const&) = default;
  Offer& operator=(Offer&&) = default;
  virtual ~Offer() = default;

  Candidate candidate;
  TableSource source = TableSource::slices;
  std::optional<std::size_t> device;  ///< index into the devices; nullopt: the host
  bool can_run = true;
  std::uint32_t key_bits = 32;  ///< as Plan has it, like all that follows
  std::uint32_t radix_bits = 0;
  std::uint32_t lanes = 1;
  std::uint64_t slice_rows = kMaxPassRows;
  std::uint64_t chunk_rows = kLargestChunkRows;  ///< wanted; what memory is left may allow less
  std::uint64_t device_bytes = 0;
  std::uint64_t host_bytes = 0;  ///< beside what every slice takes
  std::vector<std::pair<std::string, std::string>> details;

  bool takes_whole() const noexcept { return source != TableSource::slices; }
};

struct JoinOffer : Offer {
  JoinTuning tuning;                 ///< of tables that it takes whole: with every choice made
  std::vector<std::size_t> carried;  ///< positions in JoinShape::output: moved along with the keys
};

struct GroupByOffer : Offer {
  GroupByTuning tuning;
  double pixels = 0;                     ///< of a slice's first hash image
  Grouping grouping = Grouping::slices;  ///< others than slices: the path's WholeGroupBy takes the table
};

/// Where a query may run that a path is asked about: on one device, or on the host.
struct Place {
  Machine const& machine;
  rates::HostRates const& host;          ///< of so many threads as the query has
  std::optional<std::size_t> device;     ///< nullopt: the host
  std::optional<std::size_t> requested;  ///< the device that the caller asks for

  DeviceFacts const& facts() const { return machine.devices.at(*device); }
  /// A software device that nobody asked for is priced one way only: a query of a few rows takes as long as pricing.
  bool is_idle() const { return facts().is_software() && requested != device; }
};

/// The question to a path: for which query and where it offers something.
template <class Shape, class Options>
struct Inquiry : Place {
  Shape const& shape;
  Options const& options;
};
using JoinInquiry = Inquiry<JoinShape, JoinOptions>;
using GroupByInquiry = Inquiry<GroupByShape, GroupByOptions>;

/// A path's answer; `notes` are for the plan, whatever is chosen.
template <class Offer>
struct Offers {
  std::vector<Offer> list;
  std::vector<std::string> notes;
};
using JoinOffers = Offers<JoinOffer>;
using GroupByOffers = Offers<GroupByOffer>;

/// Phases without cost are left out of the candidate; its estimate is the sum of the others.
void set_phases(Candidate& candidate, std::vector<std::pair<std::string, double>> phases_ns);
/// Adds phases to those that it has, costs to those of the same name.
void add_phases(Candidate& candidate, std::vector<std::pair<std::string, double>> phases_ns);

/// "measured rates", or "rates assumed of a discrete device, not calibrated".
std::string source_of(DeviceFacts const& facts);

/// "measured rates, 2 threads", or "assumed rates, 2 threads", of the host.
std::string source_of_host(Machine const& machine, std::uint32_t threads);

/// Host memory that a query may take; 0: not known.
inline std::uint64_t most_host_bytes(QueryShape const& shape, RunOptions const& options) noexcept {
  return options.memory_limit_bytes != 0 ? options.memory_limit_bytes : shape.free_host_bytes / 4 * 3;
}

/// Device memory that a query may take.
inline std::uint64_t device_budget(RunOptions const& options, DeviceFacts const& facts) noexcept {
  return options.device_memory_limit_bytes != 0 ? options.device_memory_limit_bytes : facts.info->memory_bytes / 4 * 3;
}

}  // namespace garuda::contract
