// The paths that a query may run on, and which of them runs on which device, of all that they offer: one choice,
// whichever operator a node is of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "garuda/device_info.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "garuda/run.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/contract/offers/path_row.hpp"

namespace garuda::plan {

/// `threads`: that the query runs on.
contract::Machine machine_of(contract::DeviceSet& devices, std::uint32_t threads);

/// The device that the options ask a path that needs one to use; nullopt when that is left open or the path that is
/// asked for needs none. A path of CUDA takes a CUDA device, which may also be asked for as the Vulkan device of the
/// same GPU; the others take a Vulkan one, `automatic` a CUDA device where no Vulkan device has the name. Errors:
/// no_device, usage for a name that fits several devices.
Result<std::optional<std::size_t>> requested_device(std::span<contract::DeviceFacts const> devices,
                                                    RunOptions const& options);

/// `resident_on`: the device that the tables live on; nullopt: the host. Errors: no_device for a path that is not part
/// of the library; usage for a device with a path that needs none, for placement=device, or tables on a device, of a
/// path that takes no tables whole, and for slices of tables on a device.
Result<void> check_path(RunOptions const& options, Placement placement, std::optional<std::size_t> resident_on = {});

/// Whether tables might be taken whole by a path on one of the devices: known before calibrations are looked up, which
/// takes as long as a query of a few rows.
bool may_take_tables(RunOptions const& options, Placement placement, std::span<DeviceInfo const> devices);

/// The plan of a table that is there already, as an input of an operator. `resident_on`: the device that it lives on.
Plan plan_of_table(contract::DeviceSet const& devices, std::optional<std::size_t> resident_on, std::int64_t rows);

/// Offers of whichever operator.
using AnyOffers = contract::Offers<std::unique_ptr<contract::Offer>>;

/// One operator of a query, as the choice sees it. Refers to its shape and options.
class Node {
 public:
  Node(contract::QueryShape const& shape, RunOptions const& options, Placement placement) noexcept
      : known_(shape), run_options_(options), placement_(placement) {}
  Node(Node const&) = delete;
  Node& operator=(Node const&) = delete;
  virtual ~Node() = default;

  /// Whether `path` has strategies for the operator.
  virtual bool is_of(contract::PathRow const& path) const = 0;
  /// Prices the strategies of `path` at `place`. Errors: why it has none there.
  virtual Result<AnyOffers> ask(contract::PathRow const& path, contract::Place const& place) const = 0;

  contract::QueryShape const& known() const noexcept { return known_; }
  RunOptions const& run_options() const noexcept { return run_options_; }
  Placement placement() const noexcept { return placement_; }

 private:
  contract::QueryShape const& known_;
  RunOptions const& run_options_;
  Placement placement_;
};

/// An operator whose paths make offers of type `Offer`. `ask_of` finds a path's function that does so; it may be null.
template <class Offer, class Shape, class Options>
class OperatorNode : public Node {
 public:
  using Inquiry = contract::Inquiry<Shape, Options>;
  using Ask = Result<contract::Offers<Offer>> (*)(Inquiry const& inquiry);

  OperatorNode(Shape const& shape, Options const& options, Ask (*ask_of)(contract::PathRow const& path)) noexcept
      : Node(shape, options, options.tuning.placement), shape_(shape), options_(options), ask_of_(ask_of) {}

  bool is_of(contract::PathRow const& path) const override { return ask_of_(path) != nullptr; }
  Result<AnyOffers> ask(contract::PathRow const& path, contract::Place const& place) const override {
    GARUDA_TRY_ASSIGN(auto offered, ask_of_(path)(Inquiry{place, shape_, options_}));
    AnyOffers offers{{}, std::move(offered.notes)};
    for (auto& offer : offered.list) offers.list.push_back(std::make_unique<Offer>(std::move(offer)));
    return offers;
  }

 protected:
  Shape const& shape() const noexcept { return shape_; }

 private:
  Shape const& shape_;
  Options const& options_;
  Ask (*ask_of_)(contract::PathRow const& path);
};

/// The offer that was chosen, and its plan as far as it is that of any query.
struct Chosen {
  std::unique_ptr<contract::Offer> offer;
  Plan plan;
};

/// Takes the cheapest of all offers that the options and the device rules allow. A software device is never taken
/// unless it is asked for; `automatic` takes a path that asks for permission when it has that, or when no other path
/// has a usable GPU. All offers are candidates of the plan, the cheapest first, those that cannot run last. For a shape
/// whose keys were not looked at, of a path that was asked for, nothing else is listed. Pure. Errors: those of
/// check_path and requested_device; no_device, and what the path or device that was asked for says against it; usage
/// for another device than that of the tables.
Result<Chosen> choose_offer(Node const& node, contract::Machine const& machine);

/// Chooses a device of `api`; returns its position. `request`: "auto", the best usable one by kind: discrete,
/// integrated, virtual, other, cpu; an index, of the device or of the same GPU under another API; else a part of the
/// name, whatever its case. Errors: no_device when none fits, naming each with its reason; usage when a name fits
/// usable devices of different names.
Result<std::size_t> choose_device(std::span<DeviceInfo const* const> devices, std::string_view request, DeviceApi api);

/// All paths, those of this library first.
std::span<contract::PathRow const* const> paths() noexcept;

/// Adds a path of the program's own, which outlives every engine. Not safe while engines are used. Requires: no other
/// row has its value or its name.
void add_path(contract::PathRow const& row);

/// The row of `path`, or nullptr when it is not built in.
contract::PathRow const* find_path(Path path) noexcept;

}  // namespace garuda::plan
