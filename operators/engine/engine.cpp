// The engine: finds devices, opens them on first use, resolves requests and hands them to the drivers.
#include "garuda/engine.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <mutex>
#include <utility>

#include "core/kept_memory.hpp"
#include "operators/calibrate/device_rates.hpp"
#include "operators/calibrate/group_by_timing.hpp"
#include "operators/calibrate/host_rates.hpp"
#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/contract/path_row.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/cuda/cuda_device.hpp"
#include "operators/cuda/cuda_library.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/pinned_table.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/join/join.hpp"
#include "operators/plan/paths.hpp"
#include "operators/rates/calibration_store.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/host_memory.hpp"
#include "vk_runtime/device.hpp"
#include "vk_runtime/device_choice.hpp"
#include "vk_runtime/instance.hpp"
#include "vk_runtime/pinned_memory.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda {
namespace {

/// Freed host memory is kept up to the total's part of so much.
constexpr std::uint64_t kKeptShare = 4;

/// More than any host has.
constexpr std::size_t kMostCudaDevices = 64;

/// CalibrateOptions::device of the host.
constexpr char const* kHost = "host";

DeviceKind kind_of(vk::DeviceType type) {
  switch (type) {
    case vk::DeviceType::discrete:
      return DeviceKind::discrete;
    case vk::DeviceType::integrated:
      return DeviceKind::integrated;
    case vk::DeviceType::virtual_gpu:
      return DeviceKind::virtual_gpu;
    case vk::DeviceType::cpu:
      return DeviceKind::cpu;
    case vk::DeviceType::other:
      break;
  }
  return DeviceKind::other;
}

std::string format_support(vk::FormatSupport const& support) {
  std::string text;
  auto const add = [&](bool has, char const* name) {
    if (has) text += fmt::format("{}{}", text.empty() ? "" : " ", name);
  };
  add(support.color_attachment, "attachment");
  add(support.blend, "blend");
  add(support.sampled, "sampled");
  add(support.storage, "storage");
  return text.empty() ? "none" : text;
}

std::vector<std::pair<std::string, std::string>> printable_traits(vk::DeviceTraits const& traits) {
  auto const& limits = traits.limits;
  std::vector<std::pair<std::string, std::string>> rows{
      {"max render extent", fmt::to_string(traits.max_render_extent())},
      {"max image array layers", fmt::to_string(limits.max_image_array_layers)},
      {"max storage buffer range", fmt::to_string(limits.max_storage_buffer_range)},
      {"max memory allocation", fmt::to_string(limits.max_memory_allocation_size)},
      {"max workgroup invocations", fmt::to_string(limits.max_workgroup_invocations)},
      {"shared memory bytes", fmt::to_string(limits.max_compute_shared_memory_bytes)},
      {"max color attachments", fmt::to_string(limits.max_color_attachments)},
      {"timestamps", traits.timestamps_reliable ? "yes" : "no, phases take host time"},
      {"imported host memory", traits.features.external_memory_host ? "yes" : "no"},
      {"vertex stage atomics", traits.features.vertex_pipeline_stores_and_atomics ? "yes" : "no"},
  };
  auto const compute = compute::compute_tuning(traits);
  rows.emplace_back("compute path", compute ? fmt::format("yes, subgroups of {}", compute->subgroup_size)
                                            : "no: " + compute.error().message());
  for (auto const format : {vk::PixelFormat::r32_sfloat, vk::PixelFormat::r32g32b32a32_sfloat,
                            vk::PixelFormat::r32g32_uint, vk::PixelFormat::r32g32b32a32_uint})
    rows.emplace_back(vk::to_string(format), format_support(traits.format(format)));
  for (auto const& family : traits.queue_families)
    rows.emplace_back(fmt::format("queue family {}", family.index),
                      fmt::format("{} queues:{}{}{}", family.count, family.graphics ? " graphics" : "",
                                  family.compute ? " compute" : "", family.transfer ? " transfer" : ""));
  for (auto const& quirk : traits.quirks) rows.emplace_back("quirk: " + quirk.what, quirk.reason);
  return rows;
}

DeviceInfo describe(std::uint32_t index, vk::DeviceTraits const& traits) {
  DeviceInfo info;
  info.index = index;
  info.name = traits.name;
  info.driver = fmt::format("{}{}{}", traits.driver_name, traits.driver_info.empty() ? "" : " ", traits.driver_info);
  info.api_version = traits.api_version_text();
  info.kind = kind_of(traits.type);
  info.memory_bytes = traits.device_local_bytes();
  info.unified_memory = traits.unified_memory;
  info.subgroup_size = traits.subgroup.size;
  auto const unusable = vk::unusable_reason(traits);
  info.usable = !unusable.has_value();
  info.reason = unusable.value_or(
      traits.type == vk::DeviceType::cpu ? "usable; a software device, taken only when asked for" : "usable");
  info.missing_optional = traits.missing_optional;
  info.traits = printable_traits(traits);
  return info;
}

}  // namespace

struct Engine::Impl final : contract::DeviceSet {
  struct Opened {
    std::unique_ptr<vk::Device> device;
    std::unique_ptr<vk::PipelineStore> pipelines;  // after its device: destroyed first
    std::unique_ptr<cuda::CudaDevice> cuda;        // of a CUDA device, alone
  };

  std::span<DeviceInfo const> devices() const noexcept override {
    std::lock_guard const lock(mutex);
    return infos;
  }
  vk::DeviceTraits const& traits(std::size_t index) const override {
    if (index < physical.size()) return physical[index].traits;
    return cuda_traits.at(index - physical.size());
  }
  rates::CalibrationStore const& calibrations() const noexcept override { return *calibration_store; }

  Result<contract::OpenDevice> open(std::size_t index) override {
    std::lock_guard const lock(mutex);
    GARUDA_EXPECTS(index < infos.size());
    auto& entry = opened[index];
    if (index >= physical.size()) return open_cuda(entry, static_cast<std::uint32_t>(index - physical.size()));
    if (entry.pipelines == nullptr) {
      GARUDA_TRY_ASSIGN(entry.device, vk::Device::create(*instance, physical[index]));
      GARUDA_TRY_ASSIGN(
          entry.pipelines,
          vk::PipelineStore::create(*entry.device, pipeline_cache_on_disk ? vk::default_cache_folder() : std::nullopt));
      entry.device->pinned().set_kept_limit(kept_memory_limit);
    }
    return contract::OpenDevice{entry.device.get(), entry.pipelines.get(), nullptr};
  }

  Result<contract::OpenDevice> open_cuda(Opened& entry, std::uint32_t ordinal) const {
    if (entry.cuda == nullptr) {
      GARUDA_TRY_ASSIGN(entry.cuda, cuda::CudaDevice::open(*cuda, ordinal));
    }
    return contract::OpenDevice{nullptr, nullptr, entry.cuda.get()};
  }

  /// Once: the answer stays the same.
  Result<void> find_cuda() {
    std::lock_guard const lock(mutex);
    if (!cuda_looked_for) cuda_found = look_for_cuda();
    cuda_looked_for = true;
    return cuda_found;
  }

  Result<void> look_for_cuda() {
    if (!cuda_wanted) return fail(ErrorCode::no_device, "the engine was made without CUDA");
    GARUDA_TRY_ASSIGN(cuda, cuda::CudaLibrary::load());
    GARUDA_TRY_ASSIGN(auto found, cuda->devices());
    if (found.size() > kMostCudaDevices) found.resize(kMostCudaDevices);
    std::vector<vk::DeviceTraits const*> vulkan;
    for (auto const& device : physical) vulkan.push_back(&device.traits);
    opened.resize(physical.size() + found.size());
    for (auto const& traits : found) {
      cuda_traits.push_back(cuda::planning_traits(traits));
      infos.push_back(cuda::describe_cuda(static_cast<std::uint32_t>(infos.size()), traits, vulkan));
    }
    return {};
  }

  /// Path cuda needs them, and so does a machine that has nothing else; where there are none the others say so.
  Result<void> find_cuda_for(RunOptions const& options) {
    auto const* const path = plan::find_path(options.path);
    if (path != nullptr && path->api == DeviceApi::cuda) {
      auto found = find_cuda();
      if (!found)
        return tl::unexpected<Error>(std::move(found).error().wrap(fmt::format("the {} path cannot run", path->name)));
      return {};
    }
    bool const has_gpu = std::ranges::any_of(
        devices(), [](DeviceInfo const& info) { return info.usable && info.kind != DeviceKind::cpu; });
    if (options.path == Path::automatic && (options.allow_cuda || !has_gpu)) (void)find_cuda();
    return {};
  }

  /// A machine without Vulkan is a CPU-only engine; asking for the validation layer where there is none is an error.
  Result<void> find_devices(EngineOptions const& options) {
    auto created = vk::Instance::create({options.validation});
    if (!created && created.error().code() != ErrorCode::no_device) return propagate(std::move(created));
    if (!created) return {};
    instance = std::move(*created);
    auto found = instance->physical_devices();
    if (!found && found.error().code() != ErrorCode::no_device) return propagate(std::move(found));
    if (!found) return {};
    physical = std::move(*found);
    opened.resize(physical.size());
    // CUDA devices may follow while spans of these are out.
    infos.reserve(physical.size() + kMostCudaDevices);
    for (std::uint32_t i = 0; i < physical.size(); ++i) infos.push_back(describe(i, physical[i].traits));
    return {};
  }

  void read_calibrations(EngineOptions const& options) {
    auto folder = rates::default_folder();
    if (options.calibration_folder) folder = *options.calibration_folder;
    if (folder && folder->empty()) folder.reset();
    std::vector<vk::DeviceTraits const*> all;
    for (auto const& device : physical) all.push_back(&device.traits);
    calibration_store = std::make_unique<rates::CalibrationStore>(std::move(folder), all);
  }

  /// The device that `request` names. Errors: no_device, usage for a name of several.
  Result<std::size_t> choose(std::string_view request) const {
    std::vector<vk::DeviceTraits> all;
    for (auto const& device : physical) all.push_back(device.traits);
    GARUDA_TRY_ASSIGN(auto const choice, vk::choose_device(all, vk::parse_device_request(request)));
    return choice.index;
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
    for (std::size_t i = 0; i < physical.size(); ++i)
      if (infos[i].usable) chosen.push_back(i);
    return chosen;
  }

  Result<CalibrationInfo> calibrate_host(CalibrateOptions const& options) {
    KeptMemory::instance().set_limit(kept_memory_limit);  // as of the queries that the rates are for
    oneapi::tbb::task_arena arena(contract::arena_threads(options.threads));
    auto const group_by = [&](calibrate::TimedGroups const& run) {
      return calibrate::time_cpu_group_by(run, options.threads, *this, options.control);
    };
    GARUDA_TRY_ASSIGN(auto const rates,
                      arena.execute([&] { return calibrate::measure_host(options.control, group_by); }));
    GARUDA_TRY(calibration_store->keep(rates));
    return calibration_store->host_info();
  }

  Result<CalibrationInfo> calibrate_device(std::size_t index, CalibrateOptions const& options) {
    GARUDA_TRY_ASSIGN(auto const device, open(index));
    GARUDA_TRY_ASSIGN(auto const rates, calibrate::measure_device(*device.device, *device.pipelines, options.control));
    GARUDA_TRY(calibration_store->keep(index, rates));
    return calibration_store->device_info(index);
  }

  Result<resolve::JoinRequest> resolve(TableView left, TableView right, JoinSpec const& spec,
                                       JoinOptions const& join_options) {
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_join(left.schema(), right.schema(), spec));
    GARUDA_TRY(find_cuda_for(join_options));
    keep_memory(join_options);
    return resolve::JoinRequest{left, right, spec, std::move(columns), join_options, this};
  }

  Result<resolve::GroupByRequest> resolve(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_group_by(table, spec));
    GARUDA_TRY(find_cuda_for(options));
    keep_memory(options);
    return resolve::GroupByRequest{table, spec, std::move(columns), options, this};
  }

  /// What earlier calls left behind would count against a limit.
  void keep_memory(RunOptions const& options) const {
    auto const kept = options.memory_limit_bytes != 0 ? 0 : kept_memory_limit;
    KeptMemory::instance().set_limit(kept);
    std::lock_guard const lock(mutex);
    for (auto const& entry : opened)
      if (entry.device != nullptr) entry.device->pinned().set_kept_limit(kept);
  }

  KeptMemory::Tenancy keeps_memory;
  std::size_t kept_memory_limit = run::total_host_bytes() / kKeptShare;
  std::unique_ptr<vk::Instance> instance;
  std::vector<vk::PhysicalDevice> physical;
  std::vector<DeviceInfo> infos;  // Vulkan devices, then CUDA devices
  mutable std::mutex mutex;
  std::unique_ptr<cuda::CudaLibrary> cuda;
  std::deque<vk::DeviceTraits> cuda_traits;
  Result<void> cuda_found;
  bool cuda_looked_for = false;
  bool cuda_wanted = true;
  std::vector<Opened> opened;  // after `instance`: destroyed first
  std::unique_ptr<rates::CalibrationStore> calibration_store;
  bool pipeline_cache_on_disk = true;
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::create(EngineOptions const& options) {
  auto impl = std::make_unique<Impl>();
  impl->pipeline_cache_on_disk = options.pipeline_cache_on_disk;
  impl->cuda_wanted = options.cuda;
  impl->infos.reserve(kMostCudaDevices);
  if (options.vulkan) GARUDA_TRY(impl->find_devices(options));
  impl->read_calibrations(options);
  return Engine(std::move(impl));
}

std::span<DeviceInfo const> Engine::devices() const noexcept { return impl_->devices(); }

Result<void> Engine::find_cuda_devices() { return impl_->find_cuda(); }

Result<std::unique_ptr<JoinResult>> Engine::join(TableView left, TableView right, JoinSpec const& spec,
                                                 JoinOptions const& options) {
  GARUDA_TRY_ASSIGN(auto request, impl_->resolve(left, right, spec, options));
  return join::hash_join(std::move(request));
}

Result<Engine::Counted> Engine::join_count(TableView left, TableView right, JoinSpec const& spec,
                                           JoinOptions const& options) {
  GARUDA_TRY_ASSIGN(auto request, impl_->resolve(left, right, spec, options));
  return join::hash_join_count(std::move(request));
}

Result<Plan> Engine::explain_join(TableView left, TableView right, JoinSpec const& spec, JoinOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const request, impl_->resolve(left, right, spec, options));
  if (options.path == Path::automatic) (void)impl_->find_cuda();
  return join::explain_hash_join(request);
}

Result<DeviceTable> Engine::upload(TableView table, DeviceTableOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const index, impl_->choose(options.device.value_or("auto")));
  GARUDA_TRY(compute::compute_tuning(impl_->traits(index)));
  GARUDA_TRY_ASSIGN(auto const open, impl_->open(index));
  return device::upload_table(table, {open, &impl_->infos[index]}, options.control);
}

Result<PinnedBuffer> Engine::allocate_pinned(std::uint64_t bytes, DeviceTableOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const index, impl_->choose(options.device.value_or("auto")));
  GARUDA_TRY_ASSIGN(auto const open, impl_->open(index));
  return device::allocate_pinned(*open.device, bytes);
}

Result<Table> Engine::pin(TableView table, DeviceTableOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const index, impl_->choose(options.device.value_or("auto")));
  GARUDA_TRY_ASSIGN(auto const open, impl_->open(index));
  return device::pin_table(table, *open.device, options.control);
}

Result<DeviceJoin> Engine::join(DeviceTable const& left, DeviceTable const& right, JoinSpec const& spec,
                                DeviceJoinOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const columns, resolve::resolve_join(left.schema(), right.schema(), spec));
  if (left.state().device.info != right.state().device.info)
    return fail(ErrorCode::usage,
                fmt::format("the tables are on different devices: {}, {}", left.device(), right.device()));
  auto const known = impl_->calibration_store->device(left.device());
  return device::join_device_tables(left, right, columns, {spec.ordered, options, known.rates});
}

Result<DeviceGroupBy> Engine::group_by(DeviceTable const& table, GroupBySpec const& spec,
                                       DeviceGroupByOptions const& options) {
  Table const shape(table.schema(), {});
  GARUDA_TRY_ASSIGN(auto const columns, resolve::resolve_group_by(shape.view(), spec));
  return device::group_device_table(table, columns, spec.ordered, options);
}

Result<std::unique_ptr<GroupByResult>> Engine::group_by(TableView table, GroupBySpec const& spec,
                                                        GroupByOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const request, impl_->resolve(table, spec, options));
  return group_by::group_by(request);
}

Result<Plan> Engine::explain_group_by(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const request, impl_->resolve(table, spec, options));
  if (options.path == Path::automatic) (void)impl_->find_cuda();
  return group_by::explain_group_by(request);
}

void Engine::release_device_memory() {
  std::lock_guard const lock(impl_->mutex);
  for (auto const& entry : impl_->opened) {
    if (entry.device != nullptr) {
      entry.device->pinned().trim();
      entry.device->memory().trim();
    }
    // A lost device has no memory to give back; the next call on it says so.
    if (entry.cuda != nullptr) (void)entry.cuda->trim();
  }
}

void Engine::release_host_memory() { KeptMemory::instance().give_back_all(); }

Result<std::vector<CalibrationInfo>> Engine::calibrate(CalibrateOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const devices, impl_->devices_to_calibrate(options.device));
  std::vector<CalibrationInfo> infos;
  if (!options.device || options.device == kHost) {
    GARUDA_TRY_ASSIGN(auto info, impl_->calibrate_host(options));
    infos.push_back(std::move(info));
  }
  for (auto const index : devices) {
    GARUDA_TRY_ASSIGN(auto info, impl_->calibrate_device(index, options));
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<CalibrationInfo> Engine::calibrations() const {
  std::vector<CalibrationInfo> infos{impl_->calibration_store->host_info()};
  for (std::size_t i = 0; i < impl_->physical.size(); ++i) infos.push_back(impl_->calibration_store->device_info(i));
  return infos;
}

std::vector<std::string> Engine::validation_messages() const {
  return impl_->instance == nullptr ? std::vector<std::string>{} : impl_->instance->validation_messages();
}

}  // namespace garuda
