// The plug-in's side of its C border: every function turns results into codes and lets no exception out.
#include "cuda_backend/plugin.h"

#include <memory>
#include <utility>

#include "cuda_backend/border.hpp"
#include "cuda_backend/device.hpp"
#include "cuda_backend/group_by/groups.hpp"
#include "cuda_backend/group_by/numbered_states.hpp"
#include "cuda_backend/group_by/resident_group_by.hpp"
#include "cuda_backend/histogram.hpp"
#include "cuda_backend/join/resident_join.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/status.hpp"

namespace backend = garuda::cuda_backend;
using backend::guarded;
using garuda::Result;

namespace {

/// An object that was opened on a lane.
template <class Object>
struct Handle {
  backend::Lane& lane;
  std::unique_ptr<Object> object;
};

struct NumberedGroups {
  backend::Groups groups;
  backend::NumberedStates states{};  ///< of the last aggregate
};

}  // namespace

struct GarudaCudaDevice {
  std::unique_ptr<backend::Device> device;
};
struct GarudaCudaLane {
  std::unique_ptr<backend::Lane> lane;
};
struct GarudaCudaGroups : Handle<NumberedGroups> {};
struct GarudaCudaBuffer : Handle<backend::Buffer> {};
struct GarudaCudaImported : Handle<backend::ImportedMemory> {};
struct GarudaCudaResidentJoin : Handle<backend::ResidentJoin> {};
struct GarudaCudaResidentGroupBy : Handle<backend::ResidentGroupBy> {};

namespace {

/// Calls `body`, which returns a value for `out`.
template <class Value, class Body>
std::int32_t fetch(GarudaCudaError* error, Value* out, Body const& body) noexcept {
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(*out, body());
    return {};
  });
}

/// Calls `body`, which returns a value for `out`, with the lane's device as the calling thread's.
template <class Value, class Body>
std::int32_t fetch(backend::Lane& lane, GarudaCudaError* error, Value* out, Body const& body) noexcept {
  return fetch(error, out, [&]() -> Result<Value> {
    GARUDA_TRY(lane.device().enter());
    return body();
  });
}

/// Calls `body`, which returns no value, with the lane's device as the calling thread's.
template <class Body>
std::int32_t on_lane(backend::Lane& lane, GarudaCudaError* error, Body const& body) noexcept {
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY(lane.device().enter());
    return body();
  });
}

/// Has `out` be a handle for what `open`, given the lane, returns: Result<std::unique_ptr<Object>>.
template <class Handle, class Open>
std::int32_t begin(GarudaCudaLane* lane, GarudaCudaError* error, Handle** out, Open const& open) noexcept {
  return fetch(*lane->lane, error, out, [&]() -> Result<Handle*> {
    GARUDA_TRY_ASSIGN(auto object, open(*lane->lane));
    return std::make_unique<Handle>(Handle{{*lane->lane, std::move(object)}}).release();
  });
}

/// The lane's device is made the thread's before the handle goes.
template <class Handle>
void destroy(Handle* handle) {
  std::unique_ptr<Handle> const ended(handle);
  (void)ended->lane.device().enter();
}

std::int32_t count_devices(std::uint32_t* count, GarudaCudaError* error) {
  return fetch(error, count, [] { return backend::count_devices(); });
}

std::int32_t device_traits(std::uint32_t ordinal, GarudaCudaTraits* traits, GarudaCudaError* error) {
  return fetch(error, traits, [&] { return backend::device_traits(ordinal); });
}

std::int32_t open_device(std::uint32_t ordinal, GarudaCudaDevice** device, GarudaCudaError* error) {
  return fetch(error, device, [&]() -> Result<GarudaCudaDevice*> {
    GARUDA_TRY_ASSIGN(auto opened, backend::Device::open(ordinal));
    return std::make_unique<GarudaCudaDevice>(GarudaCudaDevice{std::move(opened)}).release();
  });
}

void close_device(GarudaCudaDevice* device) { std::unique_ptr<GarudaCudaDevice>{device}.reset(); }

std::int32_t available_bytes(GarudaCudaDevice* device, std::uint64_t* bytes, GarudaCudaError* error) {
  return fetch(error, bytes, [&]() -> Result<std::uint64_t> {
    GARUDA_TRY(device->device->enter());
    return device->device->available_bytes();
  });
}

std::int32_t trim(GarudaCudaDevice* device, GarudaCudaError* error) {
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY(device->device->enter());
    return device->device->trim();
  });
}

std::int32_t open_lane(GarudaCudaDevice* device, GarudaCudaLaneOptions const* options, GarudaCudaHost const* host,
                       GarudaCudaLane** lane, GarudaCudaError* error) {
  return fetch(error, lane, [&]() -> Result<GarudaCudaLane*> {
    GARUDA_TRY_ASSIGN(auto opened, backend::Lane::create(*device->device, *options, *host));
    return std::make_unique<GarudaCudaLane>(GarudaCudaLane{std::move(opened)}).release();
  });
}

void close_lane(GarudaCudaLane* lane) {
  std::unique_ptr<GarudaCudaLane> const closed(lane);
  // Without its device nothing of the lane is there any more.
  (void)closed->lane->device().enter();
}

std::int32_t begin_groups(GarudaCudaLane* lane, GarudaCudaGroupKeys const* keys, GarudaCudaGroups** groups,
                          GarudaCudaNumberedRows* numbered, GarudaCudaError* error) {
  return begin(lane, error, groups, [&](backend::Lane& own) -> Result<std::unique_ptr<NumberedGroups>> {
    GARUDA_TRY_ASSIGN(auto found, backend::Groups::find(own, *keys));
    *numbered = {reinterpret_cast<std::uint64_t>(found.heads()), reinterpret_cast<std::uint64_t>(found.ids()),
                 found.size()};
    return std::make_unique<NumberedGroups>(NumberedGroups{std::move(found)});
  });
}

std::int32_t aggregate(GarudaCudaGroups* groups, GarudaCudaAggregate const* column, GarudaCudaStates* states,
                       GarudaCudaError* error) {
  return fetch(groups->lane, error, states, [&]() -> Result<GarudaCudaStates> {
    auto& numbered = *groups->object;
    numbered.states = {};
    GARUDA_TRY_ASSIGN(numbered.states, backend::accumulate(groups->lane, numbered.groups, *column));
    GARUDA_TRY(groups->lane.wait());
    return numbered.states.view();
  });
}

std::int32_t create_buffer(GarudaCudaLane* lane, std::uint64_t bytes, GarudaCudaBuffer** buffer, std::uint64_t* address,
                           GarudaCudaError* error) {
  return begin(lane, error, buffer, [&](backend::Lane& own) -> Result<std::unique_ptr<backend::Buffer>> {
    GARUDA_TRY_ASSIGN(auto memory, own.allocate(bytes, "a buffer"));
    // Other streams, and other APIs, may use it from now on.
    GARUDA_TRY(own.wait());
    *address = memory.address();
    return std::make_unique<backend::Buffer>(std::move(memory));
  });
}

std::int32_t upload(GarudaCudaLane* lane, std::uint64_t address, void const* source, std::uint64_t bytes,
                    GarudaCudaError* error) {
  return on_lane(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY(lane->lane->step("upload", bytes));
    GARUDA_TRY(lane->lane->upload(reinterpret_cast<void*>(address), {static_cast<std::byte const*>(source), bytes}));
    return lane->lane->wait();
  });
}

std::int32_t download(GarudaCudaLane* lane, std::uint64_t address, void* target, std::uint64_t bytes,
                      GarudaCudaError* error) {
  return on_lane(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY(lane->lane->step("download", bytes));
    return lane->lane->download({static_cast<std::byte*>(target), bytes}, reinterpret_cast<void const*>(address));
  });
}

std::int32_t copy(GarudaCudaLane* lane, std::uint64_t target, std::uint64_t source, std::uint64_t bytes,
                  GarudaCudaError* error) {
  return on_lane(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY(lane->lane->step("copy", 2 * bytes));
    GARUDA_CUDA_TRY(cudaMemcpyAsync(reinterpret_cast<void*>(target), reinterpret_cast<void const*>(source), bytes,
                                    cudaMemcpyDeviceToDevice, lane->lane->stream()));
    return lane->lane->wait();
  });
}

std::int32_t import_memory(GarudaCudaLane* lane, GarudaCudaImport const* memory, GarudaCudaImported** imported,
                           std::uint64_t* address, GarudaCudaError* error) {
  return begin(lane, error, imported, [&](backend::Lane&) -> Result<std::unique_ptr<backend::ImportedMemory>> {
    GARUDA_TRY_ASSIGN(auto view, backend::ImportedMemory::import(*memory));
    *address = view->address();
    return view;
  });
}

std::int32_t count_bins(GarudaCudaLane* lane, GarudaCudaHistogram const* histogram, GarudaCudaError* error) {
  return on_lane(*lane->lane, error, [&] { return backend::count_bins(*lane->lane, *histogram); });
}

std::int32_t begin_resident_join(GarudaCudaLane* lane, GarudaCudaResidentTable const* left,
                                 GarudaCudaResidentTable const* right, std::uint32_t parts, std::uint64_t expected_rows,
                                 GarudaCudaResidentTuning const* tuning, GarudaCudaResidentJoin** join,
                                 GarudaCudaError* error) {
  return begin(lane, error, join, [&](backend::Lane& own) {
    return backend::ResidentJoin::create(own, *left, *right, static_cast<GarudaCudaJoinParts>(parts), expected_rows,
                                         *tuning);
  });
}

std::int32_t run_resident_join(GarudaCudaResidentJoin* join, GarudaCudaResidentRows* rows, GarudaCudaError* error) {
  return fetch(join->lane, error, rows, [&] { return join->object->run(); });
}

std::int32_t mark_resident_join(GarudaCudaResidentJoin* join, std::uint32_t is_left, std::uint64_t count,
                                std::uint64_t* words, GarudaCudaError* error) {
  return on_lane(join->lane, error, [&] { return join->object->mark(is_left != 0, {words, count}); });
}

std::int32_t begin_resident_group_by(GarudaCudaLane* lane, GarudaCudaColumn const* key, std::uint64_t rows,
                                     GarudaCudaResidentAggregate const* aggregates, std::uint32_t num_aggregates,
                                     std::uint64_t expected_groups, GarudaCudaResidentGroupBy** group_by,
                                     GarudaCudaError* error) {
  return begin(lane, error, group_by, [&](backend::Lane& own) {
    return backend::ResidentGroupBy::create(own, *key, rows, {aggregates, aggregates + num_aggregates},
                                            expected_groups);
  });
}

std::int32_t run_resident_group_by(GarudaCudaResidentGroupBy* group_by, GarudaCudaResidentGroups* groups,
                                   GarudaCudaError* error) {
  return fetch(group_by->lane, error, groups, [&] { return group_by->object->run(); });
}

constexpr GarudaCudaApi kApi{
    GARUDA_CUDA_ABI_VERSION,
    sizeof(GarudaCudaApi),
    count_devices,
    device_traits,
    open_device,
    close_device,
    available_bytes,
    trim,
    open_lane,
    close_lane,
    begin_groups,
    aggregate,
    destroy<GarudaCudaGroups>,
    create_buffer,
    upload,
    download,
    copy,
    destroy<GarudaCudaBuffer>,
    import_memory,
    destroy<GarudaCudaImported>,
    count_bins,
    begin_resident_join,
    run_resident_join,
    mark_resident_join,
    destroy<GarudaCudaResidentJoin>,
    begin_resident_group_by,
    run_resident_group_by,
    destroy<GarudaCudaResidentGroupBy>,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) GarudaCudaApi const* garuda_cuda_api(std::uint32_t version) {
  return version == GARUDA_CUDA_ABI_VERSION ? &kApi : nullptr;
}
