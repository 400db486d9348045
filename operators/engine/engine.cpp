// The engine: finds devices, opens them on first use, resolves requests and hands them to the drivers.
#include "garuda/engine.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/kept_memory.hpp"
#include "core/parallel_blocks.hpp"
#include "core/positions.hpp"
#include "operators/calibrate/background_calibration.hpp"
#include "operators/calibrate/device_rates.hpp"
#include "operators/calibrate/group_by_timing.hpp"
#include "operators/calibrate/host_rates.hpp"
#include "operators/calibrate/measuring.hpp"
#include "operators/contract/offers/path_row.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/pinned_table.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/join/join.hpp"
#include "operators/join/join_build.hpp"
#include "operators/materialize/viewed_result.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/query/run_query.hpp"
#include "operators/query/scans/read_sources.hpp"
#include "operators/query/scans/scanned_columns.hpp"
#include "operators/rates/calibrations.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/resolve/tuning_text.hpp"
#include "operators/run/query_run.hpp"
#include "operators/substrait/read_plan.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda {
namespace {

Result<void> check_options(QueryOptions const& options) {
  GARUDA_TRY(check_threads(options.threads));
  GARUDA_TRY(resolve::check_tuning(resolve::join_knobs(), options.join_tuning));
  return resolve::check_tuning(resolve::group_by_knobs(), options.group_by_tuning);
}

/// No host has more devices.
constexpr std::size_t kMostDevices = 128;

/// CalibrateOptions::device of the host.
constexpr char const* kHost = "host";

/// Finds the tables that a plan of Substrait names among `tables`, which must outlive it.
FindTable finding_among(std::span<NamedTable const> tables) {
  return [tables](std::string const& name) -> Result<ScannedTable> {
    auto const found = std::ranges::find(tables, name, &NamedTable::name);
    if (found != tables.end()) return found->table;
    return fail(ErrorCode::invalid_input, fmt::format("the plan reads a table that it was not given: {}", name));
  };
}

}  // namespace

struct Engine::Impl final : contract::DeviceSet {
  /// Where a device comes from: its API's devices, and its position among them.
  struct Source {
    contract::ApiDevices* devices = nullptr;
    std::size_t index = 0;
  };
  /// An API whose devices were looked for: those that were found stay, where none were a run that names a path of it
  /// looks again.
  struct Api {
    DeviceApi api;
    Result<void> found;
    std::unique_ptr<contract::ApiDevices> devices;
  };

  std::span<DeviceInfo const> devices() const noexcept override {
    std::lock_guard const lock(mutex);
    return infos;
  }
  vk::DeviceTraits const* vulkan_traits(std::size_t index) const override { return listed.at(index).vulkan; }
  rates::CalibrationStore const& calibrations() const noexcept override { return *calibration_store; }

  Result<contract::OpenDevice*> open(std::size_t index) override {
    std::lock_guard const lock(mutex);
    GARUDA_EXPECTS(index < sources.size());
    return sources[index].devices->open(sources[index].index);
  }

  /// Looks for the devices that `path` runs on, if nobody has before, or, with `again`, with a failure.
  Result<void> find_devices_of(contract::PathRow const& path, bool again = false) {
    std::lock_guard const lock(mutex);
    if (path.find_devices == nullptr) return {};
    auto known = std::ranges::find(apis, *path.api, &Api::api);
    if (known != apis.end() && (known->found || !again)) return known->found;
    auto devices = path.find_devices(created_with);
    if (known == apis.end()) known = apis.insert(known, Api{*path.api, {}, nullptr});
    auto& api = *known;
    api.found = {};
    if (!devices) {
      api.found = propagate(std::move(devices));
      return api.found;
    }
    api.devices = std::move(*devices);
    api.devices->keep_pinned(kept_memory_limit);
    auto found = api.devices->found();
    found = found.first(std::min(found.size(), kMostDevices - std::min(kMostDevices, infos.size())));
    for (std::size_t i = 0; i < found.size(); ++i) sources.push_back({api.devices.get(), i});
    contract::add_devices(listed, found);
    for (auto i = infos.size(); i < listed.size(); ++i) {
      for (auto const* row : plan::paths())
        if (row->api == path.api && row->describe_device != nullptr)
          listed[i].info.traits.emplace_back(fmt::format("{} path", row->name),
                                             row->describe_device(*listed[i].vulkan));
      infos.push_back(listed[i].info);
    }
    return {};
  }

  /// Finds the devices of all paths that ask for permission, or of all that do not. Returns the first error.
  Result<void> find_devices(bool with_permission) {
    Result<void> found;
    for (auto const* path : plan::paths())
      if (path->asks_permission == with_permission)
        if (auto one = find_devices_of(*path); !one && found) found = std::move(one);
    return found;
  }

  /// Finds the devices of the path that `run` names; it fails where there are none. An automatic run looks for devices
  /// of paths that ask for permission where it is given, or where there is no usable GPU.
  Result<void> find_devices_for(RunOptions const& run) {
    if (auto const* const path = plan::find_path(run.path); path != nullptr) {
      auto found = find_devices_of(*path, true);
      if (!found)
        return tl::unexpected<Error>(std::move(found).error().wrap(fmt::format("the {} path cannot run", path->name)));
      return {};
    }
    bool const has_gpu = std::ranges::any_of(
        devices(), [](DeviceInfo const& info) { return info.usable && info.kind != DeviceKind::cpu; });
    if (run.picks_path() && (run.allow_cuda || !has_gpu)) (void)find_devices(true);
    return {};
  }

  void read_calibrations() {
    auto folder = rates::default_folder();
    if (created_with.calibration_folder) folder = *created_with.calibration_folder;
    if (folder && folder->empty()) folder.reset();
    std::vector<vk::DeviceTraits const*> all;
    for (auto const& device : listed) all.push_back(device.vulkan);
    num_calibrated = all.size();
    calibration_store = std::make_unique<rates::CalibrationStore>(std::move(folder), all);
  }

  /// The device that `request` names. Errors: no_device, usage for a name of several.
  Result<std::size_t> choose(std::string_view request, DeviceApi api = DeviceApi::vulkan) const {
    std::vector<DeviceInfo const*> all;
    for (auto const& info : devices()) all.push_back(&info);
    return plan::choose_device(all, request, api);
  }

  /// Opens the one that `options` name.
  Result<device::TableDevice> open_for(DeviceTableOptions const& options) {
    GARUDA_TRY_ASSIGN(auto const index, choose(options.device.value_or("auto")));
    GARUDA_TRY_ASSIGN(auto const open, vulkan::open_vulkan(*this, index));
    return device::TableDevice{open, &infos[index]};
  }

  /// Positions of the devices that are to be calibrated.
  Result<std::vector<std::size_t>> devices_to_calibrate(std::optional<std::string> const& request) const {
    std::vector<std::size_t> chosen;
    if (request == kHost) return chosen;
    if (request) {
      GARUDA_TRY_ASSIGN(auto const index, choose(*request));
      chosen.push_back(index);
      return chosen;
    }
    for (std::size_t i = 0; i < num_calibrated; ++i)
      if (infos[i].usable) chosen.push_back(i);
    return chosen;
  }

  /// `threads`: as CalibrateOptions has them.
  Result<CalibrationInfo> calibrate_host(std::uint32_t threads, calibrate::MeasuringTime& time) {
    KeptMemory::instance().set_limit(kept_memory_limit);  // as of the queries that the rates are for
    oneapi::tbb::task_arena arena(arena_threads(threads));
    auto const group_by = [&](calibrate::TimedGroups const& run) {
      return calibrate::time_cpu_group_by(run, threads, *this, time.control());
    };
    GARUDA_TRY_ASSIGN(auto const rates, arena.execute([&] { return calibrate::measure_host(time, group_by); }));
    GARUDA_TRY(calibration_store->keep(rates));
    return calibration_store->host_info();
  }

  Result<CalibrationInfo> calibrate_device(std::size_t index, calibrate::MeasuringTime& time) {
    GARUDA_TRY_ASSIGN(auto const device, vulkan::open_vulkan(*this, index));
    GARUDA_TRY_ASSIGN(auto const rates, calibrate::measure_device(*device.device, *device.pipelines, time));
    GARUDA_TRY(calibration_store->keep(index, rates));
    return calibration_store->device_info(index);
  }

  /// Measurements by which the host and GPUs are compared: of both, where either is missing.
  std::vector<calibrate::Measurement> missing() {
    std::vector<calibrate::Measurement> missing;
    for (std::size_t i = 0; i < num_calibrated; ++i) {
      auto const info = calibration_store->device_info(i);
      if (!infos[i].usable || infos[i].kind == DeviceKind::cpu || info.measured) continue;
      missing.push_back({calibration_store->device_file(i), [this, i](calibrate::MeasuringTime& time) -> Result<void> {
                           GARUDA_TRY(calibrate_device(i, time));
                           return {};
                         }});
    }
    bool const has_gpu = std::ranges::any_of(std::span(infos).first(num_calibrated), [](DeviceInfo const& info) {
      return info.usable && info.kind != DeviceKind::cpu;
    });
    if (has_gpu && !calibration_store->host_info().measured)
      missing.push_back({calibration_store->host_file(), [this](calibrate::MeasuringTime& time) -> Result<void> {
                           GARUDA_TRY(calibrate_host(0, time));
                           return {};
                         }});
    return missing;
  }

  bool may_calibrate() const {
    auto const* const asked = std::getenv("GARUDA_CALIBRATION");
    return calibration_store->folder() && (asked == nullptr || std::string_view(asked) != "off");
  }

  void calibrate_in_background(RunOptions const& run) {
    if (!run.picks_path() || !created_with.calibrate_in_background) return;
    std::call_once(background_once, [this] {
      if (!may_calibrate()) return;
      auto work = missing();
      if (work.empty()) return;
      calibration_store->set_being_measured(true);
      background = std::make_unique<calibrate::BackgroundCalibration>(
          *calibration_store->folder(), std::move(work), [] { return run::QueryRun::alive() > 0; },
          [store = calibration_store.get()] { store->set_being_measured(false); });
    });
  }

  Result<resolve::JoinRequest> resolve(TableView left, JoinRight const& right, JoinSpec const& spec,
                                       JoinOptions const& join_options) {
    GARUDA_TRY(check_threads(join_options.threads));
    GARUDA_TRY(resolve::check_tuning(resolve::join_knobs(), join_options.tuning));
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_join(left.schema(), right.table().schema(), spec));
    GARUDA_TRY(find_devices_for(join_options));
    keep_memory(join_options);
    resolve::JoinRequest request{left, right.table(), spec, std::move(columns), join_options, this};
    if (right.build() != nullptr) GARUDA_TRY(right.build()->state().give_to(request));
    return request;
  }

  Result<JoinBuild> build(TableView table, std::vector<std::string> const& names, JoinBuildOptions const& options) {
    GARUDA_TRY(check_threads(options.threads));
    JoinTuning tuning;
    tuning.radix_bits = options.radix_bits;
    GARUDA_TRY(resolve::check_tuning(resolve::join_knobs(), tuning));
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_build_keys(table.schema(), names));
    RunOptions run;
    run.memory_limit_bytes = options.memory_limit_bytes;
    keep_memory(run);
    auto state = std::make_shared<join::JoinBuildState>(table, names, std::move(columns), options, *this);
    GARUDA_TRY(state->make());
    return JoinBuild(std::move(state));
  }

  Result<Plan> explain(TableView left, JoinRight const& right, JoinSpec const& spec, JoinOptions const& join_options,
                       bool counts) {
    GARUDA_TRY_ASSIGN(auto request, resolve(left, right, spec, join_options));
    if (join_options.picks_path()) (void)find_devices(true);
    return join::explain_hash_join(std::move(request), counts);
  }

  Result<resolve::GroupByRequest> resolve(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
    GARUDA_TRY(check_threads(options.threads));
    GARUDA_TRY(resolve::check_tuning(resolve::group_by_knobs(), options.tuning));
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_group_by(table, spec));
    GARUDA_TRY(find_devices_for(options));
    keep_memory(options);
    return resolve::GroupByRequest{table, spec, std::move(columns), options, this};
  }

  /// Gives back memory that earlier calls left behind, which would count against a limit.
  void keep_memory(RunOptions const& run) const {
    bool const is_limited = run.memory_limit_bytes != 0;
    KeptMemory::instance().set_limit(is_limited ? created_with.kept_beside_limit_bytes : kept_memory_limit);
    std::lock_guard const lock(mutex);
    for (auto const& api : apis)
      if (api.devices != nullptr) api.devices->keep_pinned(is_limited ? 0 : kept_memory_limit);
  }

  KeptMemory::Tenancy keeps_memory;
  std::size_t kept_memory_limit = run::most_kept_host_bytes();
  EngineOptions created_with;
  std::vector<contract::FoundDevice> listed;  // has room for all, because more may follow while these are looked at
  std::vector<DeviceInfo> infos;              // the same of each
  std::vector<Source> sources;                // by device
  std::size_t num_calibrated = 0;
  mutable std::mutex mutex;
  std::unique_ptr<rates::CalibrationStore> calibration_store;
  std::vector<Api> apis;
  std::once_flag background_once;
  std::unique_ptr<calibrate::BackgroundCalibration> background;  // after what it measures: stopped first
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::create(EngineOptions const& options) {
  auto impl = std::make_unique<Impl>();
  impl->created_with = options;
  impl->infos.reserve(kMostDevices);
  impl->listed.reserve(kMostDevices);
  // A machine without devices has the CPU path; a call that asks for another hears what is missing.
  if (auto found = impl->find_devices(false); !found && found.error().code() != ErrorCode::no_device)
    return propagate(std::move(found));
  impl->read_calibrations();
  return Engine(std::move(impl));
}

std::span<DeviceInfo const> Engine::devices() const noexcept { return impl_->devices(); }

Result<void> Engine::find_cuda_devices() { return impl_->find_devices(true); }

Result<void> Engine::open_device(RunOptions const& options) {
  auto const* const path = plan::find_path(options.path);
  if (path == nullptr || !path->api) return {};
  GARUDA_TRY(impl_->find_devices_for(options));
  GARUDA_TRY_ASSIGN(auto const index, impl_->choose(options.device.value_or("auto"), *path->api));
  GARUDA_TRY(impl_->open(index));
  return {};
}

Result<std::unique_ptr<JoinResult>> Engine::join(TableView left, JoinRight const& right, JoinSpec const& spec,
                                                 JoinOptions const& options) {
  impl_->calibrate_in_background(options);
  GARUDA_TRY_ASSIGN(auto request, impl_->resolve(left, right, spec, options));
  GARUDA_TRY_ASSIGN(auto result, join::hash_join(std::move(request)));
  return spec.strings == StringForm::view ? materialize::viewed_result(std::move(result)) : std::move(result);
}

Result<Engine::Counted> Engine::join_count(TableView left, JoinRight const& right, JoinSpec const& spec,
                                           JoinOptions const& options) {
  impl_->calibrate_in_background(options);
  GARUDA_TRY_ASSIGN(auto request, impl_->resolve(left, right, spec, options));
  return join::hash_join_count(std::move(request));
}

Result<Plan> Engine::explain_join(TableView left, JoinRight const& right, JoinSpec const& spec,
                                  JoinOptions const& options) {
  return impl_->explain(left, right, spec, options, false);
}

Result<Plan> Engine::explain_join_count(TableView left, JoinRight const& right, JoinSpec const& spec,
                                        JoinOptions const& options) {
  return impl_->explain(left, right, spec, options, true);
}

Result<JoinBuild> Engine::build(TableView table, std::vector<std::string> const& keys,
                                JoinBuildOptions const& options) {
  return impl_->build(table, keys, options);
}

Result<DeviceTable> Engine::upload(TableView table, DeviceTableOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const device, impl_->open_for(options));
  return device::upload_table(table, first_positions(table.num_columns()), device, {.control = options.control});
}

Result<PinnedBuffer> Engine::allocate_pinned(std::uint64_t bytes, DeviceTableOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const device, impl_->open_for(options));
  return device::allocate_pinned(*device.open.device, bytes);
}

Result<Table> Engine::pin(TableView table, DeviceTableOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const device, impl_->open_for(options));
  return device::pin_table(table, *device.open.device, options.control);
}

Result<std::unique_ptr<GroupByResult>> Engine::group_by(TableView table, GroupBySpec const& spec,
                                                        GroupByOptions const& options) {
  impl_->calibrate_in_background(options);
  GARUDA_TRY_ASSIGN(auto const request, impl_->resolve(table, spec, options));
  GARUDA_TRY_ASSIGN(auto result, group_by::group_by(request));
  return spec.strings == StringForm::view ? materialize::viewed_result(std::move(result)) : std::move(result);
}

Result<Plan> Engine::explain_group_by(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
  GARUDA_TRY_ASSIGN(auto request, impl_->resolve(table, spec, options));
  if (options.picks_path()) (void)impl_->find_devices(true);
  return group_by::explain_group_by(std::move(request));
}

Result<std::unique_ptr<QueryResult>> Engine::run(Query const& query, QueryOptions const& options) {
  GARUDA_TRY(check_options(options));
  impl_->calibrate_in_background(options);
  GARUDA_TRY(impl_->find_devices_for(options));
  impl_->keep_memory(options);
  if (!query::has_sources(query)) return query::run_query(query, options, *impl_);
  GARUDA_TRY_ASSIGN(auto const read, query::read_sources(query, options));
  GARUDA_TRY_ASSIGN(auto result, query::run_query(read.query, options, *impl_));
  return query::keeping(read.rows, std::move(result));
}

Result<Plan> Engine::explain(Query const& query, QueryOptions const& options) {
  GARUDA_TRY(check_options(options));
  GARUDA_TRY(impl_->find_devices_for(options));
  if (options.picks_path()) (void)impl_->find_devices(true);
  return query::explain_query(query, options, *impl_);
}

Result<std::unique_ptr<QueryResult>> Engine::run_substrait(std::span<std::byte const> plan,
                                                           std::span<NamedTable const> tables,
                                                           QueryOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const query, substrait::read_plan(plan, finding_among(tables)));
  return run(query, options);
}

Result<Plan> Engine::explain_substrait(std::span<std::byte const> plan, std::span<NamedTable const> tables,
                                       QueryOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const query, substrait::read_plan(plan, finding_among(tables)));
  return explain(query, options);
}

Result<std::vector<PlannedTable>> Engine::tables_of_substrait(std::span<std::byte const> plan, FindTable const& find) {
  std::vector<NamedTable> found;
  FindTable const remembering = [&](std::string const& name) -> Result<ScannedTable> {
    GARUDA_TRY_ASSIGN(auto const table, find(name));
    found.push_back({name, table});
    return table;
  };
  GARUDA_TRY_ASSIGN(auto const query, substrait::read_plan(plan, remembering));
  GARUDA_TRY_ASSIGN(auto const scans, query::scanned_columns(query));
  std::vector<PlannedTable> tables;
  for (auto const& [name, scanned] : found) {
    auto reads = query::reads_of(scanned.table, scans);
    tables.push_back({name, std::move(reads.columns), std::move(reads.rows)});
  }
  return tables;
}

void Engine::release_device_memory() {
  std::lock_guard const lock(impl_->mutex);
  for (auto const& api : impl_->apis)
    if (api.devices != nullptr) api.devices->release_memory();
}

void Engine::release_host_memory() { KeptMemory::instance().give_back_all(); }

Result<std::vector<CalibrationInfo>> Engine::calibrate(CalibrateOptions const& options) {
  GARUDA_TRY(check_threads(options.threads));
  GARUDA_TRY_ASSIGN(auto const devices, impl_->devices_to_calibrate(options.device));
  std::vector<CalibrationInfo> infos;
  // Who asks for it gets all rates, however long they take.
  constexpr bool kGivesUp = false;
  if (!options.device || options.device == kHost) {
    calibrate::MeasuringTime time(options.control, calibrate::kMostMeasuring, kGivesUp);
    GARUDA_TRY_ASSIGN(auto info, impl_->calibrate_host(options.threads, time));
    infos.push_back(std::move(info));
  }
  for (auto const index : devices) {
    calibrate::MeasuringTime time(options.control, calibrate::kMostMeasuring, kGivesUp);
    GARUDA_TRY_ASSIGN(auto info, impl_->calibrate_device(index, time));
    infos.push_back(std::move(info));
  }
  return infos;
}

Result<void> Engine::calibrate_missing(Control const& control) {
  if (!lacks_calibration()) return {};
  return calibrate::measure_missing(*impl_->calibration_store->folder(), impl_->missing(), control.cancelled, [&] {
    if (control.on_progress) control.on_progress({"what was not measured yet", 0, 0, 0});
  });
}

bool Engine::lacks_calibration() const { return impl_->may_calibrate() && !impl_->missing().empty(); }

std::vector<CalibrationInfo> Engine::calibrations() const {
  std::vector<CalibrationInfo> infos{impl_->calibration_store->host_info()};
  for (std::size_t i = 0; i < impl_->num_calibrated; ++i) infos.push_back(impl_->calibration_store->device_info(i));
  return infos;
}

std::vector<std::string> Engine::validation_messages() const {
  std::lock_guard const lock(impl_->mutex);
  std::vector<std::string> messages;
  for (auto const& api : impl_->apis)
    if (api.devices != nullptr)
      for (auto& message : api.devices->validation_messages()) messages.push_back(std::move(message));
  return messages;
}

}  // namespace garuda
