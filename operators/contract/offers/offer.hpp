// Offers of paths for a query: the machine and the facts of the query's data that they are made for, then candidates,
// priced and sized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "expr/condition.hpp"
#include "garuda/device_info.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/rates/rates.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::contract {

/// A device as the planner sees it.
struct DeviceFacts {
  DeviceInfo const* info = nullptr;
  vk::DeviceTraits const* vulkan = nullptr;                   ///< of a Vulkan device
  std::optional<rates::DeviceRates> measured = std::nullopt;  ///< nullopt: rates are assumed by type

  rates::DeviceRates rates() const { return measured ? *measured : rates::default_device_rates(info->kind); }
  bool is_software() const noexcept { return info->kind == DeviceKind::cpu; }
};

/// Devices and host on which queries can run. Refers to the engine's devices.
struct Machine {
  std::vector<DeviceFacts> devices;
  std::optional<rates::HostRates> measured_host;  ///< nullopt: rates are assumed
  bool is_being_measured = false;                 ///< in the background: later plans will know
  std::vector<std::string> notes = {};            ///< why calibrations were ignored

  rates::HostRates host(std::uint32_t threads) const {
    return measured_host ? *measured_host : rates::default_host_rates(threads);
  }
};

/// A column of the result, as far as its cost goes.
struct OutputShape {
  Side side = Side::left;
  std::size_t column = 0;  ///< of its table
  double bytes = 4;        ///< of a value, on average
  bool is_key = false;     ///< made of the keys' words
  bool is_plain = true;    ///< may be carried through the partitioning as it is
  double cell_bytes = 0;   ///< of what is not plain: of a cell that partitioning may carry; 0: it may not
  bool moves = true;       ///< false: its side was partitioned before, without it

  /// Bytes that carrying a value takes; 0: it cannot be carried.
  double carried_bytes() const noexcept { return !moves ? 0 : is_plain ? bytes : cell_bytes; }
};

/// The facts that the planner has about any query.
struct QueryShape {
  std::uint32_t key_bits = 32;      ///< 32 or 64; 0: keys of several words, or none
  std::uint64_t encoded_bytes = 0;  ///< host memory that encoded keys and orders hold already
  std::uint32_t threads = 1;
  std::uint64_t free_host_bytes = 0;         ///< 0: not known
  std::optional<std::size_t> resident_on{};  ///< the device that the tables live on; nullopt: the host
  bool is_unseen = false;                    ///< no key was looked at: the shape has the keys that suit the others best
};

/// Row ids of tables with so many rows.
constexpr std::uint64_t row_id_bytes(std::uint64_t rows) noexcept { return rows > (std::uint64_t{1} << 32) ? 8 : 4; }

/// The facts that the planner has about one side of a join.
struct SideShape {
  std::uint64_t rows = 0;           ///< rows that have a key
  std::uint64_t null_key_rows = 0;  ///< the other rows, whose keys are nulls that match nothing
  std::uint64_t key_range = 0;      ///< largest - smallest word + 1; 0: empty or 2^64
  double distinct = 0;              ///< estimate of the keys; 0: as many as rows
  double heaviest = 0;              ///< share of the rows that the most frequent key has; 0: not known
  double matched = 0;               ///< rows that have a match, from a sample; not known where rows are counted
  std::size_t tested_columns = 0;   ///< columns that a condition compares for every pair of equal keys
  bool is_built = false;            ///< its keys are partitioned already, and in tables where paths keep these
};

/// The facts that the planner has about the data of a join.
struct JoinShape : QueryShape {
  JoinParts parts;
  SideShape left;
  SideShape right;
  std::vector<OutputShape> output;  ///< none when rows are only counted
  double expected_matches = 0;      ///< pairs, from a sample; 0: none are enumerated
  double tested_pairs = 0;          ///< pairs of equal keys that a condition is tested on; 0: there is no condition
  /// The join of a path that takes tables whole and gives rows in any order; nullptr: none may.
  resolve::JoinRequest const* tables = nullptr;
  expr::PairCondition const* condition = nullptr;  ///< of a join without keys, whose rows match by it alone

  SideShape const& of(Side side) const noexcept { return side == Side::left ? left : right; }
  SideShape& of(Side side) noexcept { return side == Side::left ? left : right; }
  std::uint64_t smaller_rows() const noexcept { return std::min(left.rows, right.rows); }
  std::uint64_t larger_rows() const noexcept { return std::max(left.rows, right.rows); }
  std::uint64_t row_id_bytes() const noexcept {
    return contract::row_id_bytes(std::max(left.rows + left.null_key_rows, right.rows + right.null_key_rows));
  }
  bool is_non_equi() const noexcept { return condition != nullptr; }
};

/// Bytes of the partitioned keys, of the payload carried with them and of marks; `encoded_bytes` are not among them.
std::uint64_t partitioned_bytes(JoinShape const& shape, std::uint32_t radix_bits, std::span<std::size_t const> carried);

/// The sizes that grouping a whole table takes, by whichever strategy.
struct WholeSizes {
  bool has_keys = false;
  std::uint64_t slots = 1;        ///< accumulators of direct addressing: values of the key range; 0: 2^64
  std::uint64_t group_bytes = 0;  ///< of a group's states in a table
  std::uint64_t row_bytes = 0;    ///< of a row that partitioning moves
};

/// The facts that the planner has about the data of a group-by.
struct GroupByShape : QueryShape {
  std::uint64_t rows = 0;
  std::uint32_t key_words = 0;         ///< of keys of several words: their number
  std::uint32_t coded_columns = 0;     ///< key columns whose codes are those of their bytes
  std::uint32_t numbered_columns = 0;  ///< key columns whose values are numbered, row by row
  std::uint64_t estimated_groups = 1;
  std::optional<WholeSizes> whole;  ///< of the CPU path's strategies for a whole table; nullopt: only slices are left
  std::vector<StateRequest> requests;              ///< a state column each
  std::uint32_t value_words = 0;                   ///< 32-bit words of a row's values, all state columns together
  std::uint64_t output_row_bytes = 0;              ///< estimate of a result row
  bool ordered = false;                            ///< all groups are kept until the last one is known
  bool is_encoded = false;                         ///< keys were encoded on the host
  resolve::GroupByRequest const* table = nullptr;  ///< what a path looks at that takes it whole; nullptr: none may

  std::uint64_t row_id_bytes() const noexcept { return contract::row_id_bytes(rows); }
};

/// 32-bit words of a value that a device sees: bytes are compared on the host.
constexpr std::uint32_t device_words(ValueKind kind) noexcept {
  return kind == ValueKind::bytes ? 0 : value_words(kind);
}
/// The most of them that a column has.
std::uint32_t widest_value(std::span<StateRequest const> requests) noexcept;
/// Bytes of a group's partial states, all state columns together.
std::uint64_t state_bytes(std::span<StateRequest const> requests) noexcept;

inline std::uint64_t key_bytes(GroupByShape const& shape) {
  return shape.key_bits / 8 + 4 * std::uint64_t{shape.key_words};
}
inline bool has_keys(GroupByShape const& shape) { return key_bytes(shape) > 0; }

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
