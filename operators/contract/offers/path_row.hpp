// A path: what it runs on, what it offers to do with a query, and its kernels. One row each is all that leaves a path's
// folder; nothing outside asks which path it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::contract {

/// How the driver of joins feeds a path's kernels.
struct JoinFeeding {
  /// Lanes write rows of the result, whose pairs are in their thread's cache; else the reader gathers them.
  bool makes_batches = false;
  bool wants_ranges = true;  ///< the least and greatest key of each partition are to be known
  /// Most probe rows of a slice, where slices follow each other that share their build side; 0: they do not.
  std::uint64_t probe_slice_rows = 0;
  bool forks = false;  ///< kernels run loops of several threads: each lane gets an arena of its own
  /// Host memory that a lane holds beside its keys; nullptr: none.
  std::uint64_t (*host_bytes)(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_bits) = nullptr;
};

struct JoinRow {
  /// Prices and sizes every way that the inquiry leaves open; pure. Errors: what is asked for contradicts itself
  /// (usage), or the device cannot (no_device); another path may then be taken unless this one was asked for.
  Result<JoinOffers> (*offers)(JoinInquiry const& inquiry) = nullptr;
  /// Opens the path for one join in slices; `device` is nullptr when the path needs none.
  Result<std::unique_ptr<JoinBackend>> (*open)(OpenDevice* device, BackendOptions const& options) = nullptr;
  JoinFeeding feeding{};
  /// Makes the tables of pieces of a build side, for backends to find among BackendOptions::kept. Blocks; runs on the
  /// threads of the calling task arena. Requires: pieces of at most kMaxPassRows. Errors: out_of_memory, cancelled.
  /// nullptr: backends keep no tables.
  Result<void> (*build_tables)(std::span<KeySpan const> pieces, std::uint32_t shared_low_bits, Control const& control,
                               KeptTables& kept) = nullptr;
  /// Rows that a join of tables on a device has, about, from a sample of their keys. Blocks. nullptr: it takes none.
  Result<double> (*sample_matches)(resolve::JoinRequest const& request) = nullptr;
  /// Joins the tables whole, as `offer` of this path says, whose plan is `plan`. nullptr: its offers are of slices.
  Result<std::unique_ptr<JoinResult>> (*join_whole)(resolve::JoinRequest const& request, JoinOffer const& offer,
                                                    Plan plan) = nullptr;
  /// Counts the rows of that join; no pair is enumerated.
  Result<Engine::Counted> (*count_whole)(resolve::JoinRequest const& request, JoinOffer const& offer,
                                         Plan plan) = nullptr;
};

/// Joins without keys, whose shape has a condition in place of keys: slices are ranges of both tables, in place. A path
/// without `offers` has no strategy for them.
struct ConditionRow {
  /// Offers for a group-by, as JoinRow has them for joins.
  Result<JoinOffers> (*offers)(JoinInquiry const& inquiry) = nullptr;
  /// `condition` outlives the backend.
  Result<std::unique_ptr<ConditionBackend>> (*open)(OpenDevice* device, BackendOptions const& options,
                                                    expr::PairCondition const& condition) = nullptr;
  JoinFeeding feeding{};
};

struct GroupByRow {
  Result<GroupByOffers> (*offers)(GroupByInquiry const& inquiry) = nullptr;
  Result<std::unique_ptr<GroupByBackend>> (*open)(OpenDevice* device, GroupByBackendOptions const& options) = nullptr;
  /// Groups the table whole, as `offer` of this path says, whose plan is `plan`. nullptr: it makes no such offers.
  Result<std::unique_ptr<GroupByResult>> (*group_whole)(resolve::GroupByRequest const& request,
                                                        GroupByOffer const& offer, Plan plan) = nullptr;
  /// Sizes of a group-by of a whole table of the host at once; see WholeGroupBy. nullptr: the path takes slices alone.
  WholeSizes (*whole_sizes)(WholeTable const& table) = nullptr;
  Result<std::unique_ptr<WholeGroupBy>> (*open_whole)(WholeTable const& table,
                                                      WholeGroupByOptions const& options) = nullptr;
  /// Opens groups that rows of a pipeline are added to. `requests`: a state column each. nullptr: the path takes tables
  /// that are there.
  Result<std::unique_ptr<GrowingGroups>> (*open_growing)(std::span<StateRequest const> requests,
                                                         std::size_t lanes) = nullptr;
  /// Adds to the plan what of the slices is known before; nullptr: nothing.
  Result<void> (*describe)(GroupByShape const& shape, GroupByOffer const& offer, DeviceFacts const& facts,
                           Plan& plan) = nullptr;
};

struct PathRow {
  Path path = Path::cpu;
  std::string_view name;  ///< as plans and options spell it
  /// API of the devices that the path runs on; nullopt: the host, without a device.
  std::optional<DeviceApi> api{};
  /// `automatic` takes it only where that is allowed (RunOptions::allow_cuda) or no other path has a GPU.
  bool asks_permission = false;
  bool takes_whole_tables = false;  ///< offers placement=device, and takes tables that live on a device
  /// Draws the rows of queries to filter them and to compute their columns; joins and group-bys take the host's tables.
  bool draws_rows = false;
  /// Looks for the devices that it runs on; paths of one API share it. An API of paths that ask for permission is
  /// looked at late: loading it takes long. nullptr: the path needs no device. Errors: no_device, with what is missing.
  Result<std::unique_ptr<ApiDevices>> (*find_devices)(EngineOptions const& options) = nullptr;
  /// "yes, subgroups of 32" or why not, for the listing of a Vulkan device; nullptr: nothing to say.
  std::string (*describe_device)(vk::DeviceTraits const& traits) = nullptr;
  JoinRow join{};
  ConditionRow condition_join{};
  GroupByRow group_by{};
};

}  // namespace garuda::contract
