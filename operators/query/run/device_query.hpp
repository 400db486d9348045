// Operators of a query on a device: between them rows stay there.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "garuda/query.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/rows/device_rows.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/run/drawn_group_by.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::query {

/// The rows of an operator on the host, and how they came about.
struct HostRows {
  Table table;
  Plan plan;
};

/// The rows of an operator on a device. Columns that nobody reads may be missing.
struct DeviceRows {
  std::optional<DeviceTable> owned;                 ///< nullopt: a table of the caller's
  device::DeviceTableState const* table = nullptr;  ///< the rows
  std::vector<std::optional<std::size_t>> places;   ///< by column of the operator: the table's that it is
  Schema names{};                                   ///< of the table, as its view says them
};

/// The rows of an operator, wherever they are.
struct HeldRows {
  std::variant<DeviceRows, Table> rows;
  Plan plan;
};

/// The reason why operators that no path has run on the host.
inline constexpr char const* kWorkOfHost = "the host sorts, numbers, cuts and appends rows";

/// Runs operators on one device. An operator whose inputs run on the host, too, has their rows uploaded.
class DeviceQuery {
 public:
  /// Runs an operator on the host.
  using RunOnHost = std::function<Result<HostRows>(Bound const&)>;

  /// The device that the options name for queries, or that tables of the query live on; nullptr: the query runs on the
  /// host, or on a path that takes tables of the host alone. References outlive the result. Errors: no_device; those of
  /// opening a device; usage for tables on several devices, or on another one than was asked for.
  static Result<std::unique_ptr<DeviceQuery>> open(Bound const& query, QueryOptions const& options,
                                                   contract::DeviceSet& devices, run::QueryRun& run);

  /// The reason why an operator, whatever is below it, does not run on the device; nullopt: it does.
  std::optional<std::string> refusal(Bound const& query) const;
  bool computes(Bound const& query) const { return !refusal(query); }

  /// The plan of an operator that computes() here, without those of its inputs.
  Plan node_of(Bound const& query) const;

  /// Runs an operator that computes() here, and brings its rows down. Errors: those of the operators. Where gave_up()
  /// says why, the query has to run on the host instead.
  Result<HostRows> run(Bound const& query, RunOnHost const& run_on_host);

  /// The reason why rows that were to run here cannot: no memory for them, or values that shaders do not compute.
  std::optional<std::string> const& gave_up() const noexcept { return gave_up_; }

 private:
  DeviceQuery(QueryOptions const& options, contract::DeviceSet& devices, run::QueryRun& run)
      : options_(options), devices_(devices), run_(run) {}

  /// `needed`: the columns of the result that are read.
  Result<HeldRows> rows_of(Bound const& query, std::vector<bool> const& needed);
  Result<HeldRows> scan(BoundScan const& scan, std::vector<bool> const& needed);
  Result<HeldRows> filter(BoundFilter const& filter, Bound const& query, std::vector<bool> const& needed);
  Result<HeldRows> project(BoundProject const& project, Bound const& query, std::vector<bool> const& needed);
  Result<HeldRows> join(BoundJoin const& join, Bound const& query);
  Result<HeldRows> group_by(BoundGroupBy const& group_by, Bound const& query);
  /// The group-by with what its draws evaluate, on a path that draws rows; nullopt: they evaluate nothing.
  std::optional<DrawnGroupBy> drawn(Bound const& query) const;
  Result<HeldRows> group_drawn(DrawnGroupBy const& drawn, Bound const& query);

  /// Makes of the rows those of a projection that computes columns. Requires: the rows own their table.
  Result<void> compute(BoundProject const& project, Bound const& query, std::vector<bool> const& needed,
                       DeviceRows& rows);
  /// Copies the needed columns of a table of the caller's.
  Result<void> take_copy(DeviceRows& rows, std::vector<bool> const& needed);
  /// Rows of an input, on the device.
  Result<HeldRows> input_of(Bound const& query, std::vector<bool> const& needed);
  Result<DeviceRows> upload(TableView table, std::vector<bool> const& needed);
  /// The rows as operators take them whose columns are named by their positions.
  Result<TableView> named_view(DeviceRows& rows);
  Result<HeldRows> kept(QueryResult& result, Bound const& query, std::vector<Plan> inputs);
  Result<Table> bring_down(DeviceRows const& rows);

  /// Runs on the host what the device has no passes for.
  void check_device();
  device::RowsOptions rows_options() const;
  Plan plan_of(Bound const& query, std::uint64_t rows, std::vector<Plan> inputs) const;
  /// Gives up where the rows have no value that shaders compute.
  tl::unexpected<Error> unsettled(Bound const& query);

  QueryOptions const& options_;
  contract::DeviceSet& devices_;
  run::QueryRun& run_;
  device::TableDevice device_;
  contract::PathRow const* path_ = nullptr;
  RunOnHost run_on_host_;
  std::optional<std::string> gave_up_;
};

}  // namespace garuda::query
