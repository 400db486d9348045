// The plug-in's side of its C border: every function turns results into codes and lets no exception out.
#include "cuda_backend/plugin.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "cuda_backend/device.hpp"
#include "cuda_backend/groups.hpp"
#include "cuda_backend/histogram.hpp"
#include "cuda_backend/imported_memory.hpp"
#include "cuda_backend/join.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/resident_group_by.hpp"
#include "cuda_backend/resident_join.hpp"
#include "cuda_backend/status.hpp"

using garuda::Error;
using garuda::ErrorCode;
using garuda::Result;

struct GarudaCudaDevice {
  std::unique_ptr<garuda::cuda_backend::Device> device;
};
struct GarudaCudaLane {
  std::unique_ptr<garuda::cuda_backend::Lane> lane;
};
struct GarudaCudaJoin {
  garuda::cuda_backend::Lane& lane;
  std::unique_ptr<garuda::cuda_backend::Join> join;
};
struct GarudaCudaGroups {
  GarudaCudaGroups(garuda::cuda_backend::Lane& own_lane, GarudaCudaGroupSlice const& slice)
      : lane(own_lane), groups(own_lane, slice) {}
  garuda::cuda_backend::Lane& lane;
  garuda::cuda_backend::Groups groups;
};

struct GarudaCudaBuffer {
  garuda::cuda_backend::Lane& lane;
  garuda::cuda_backend::Buffer buffer;
};
struct GarudaCudaImported {
  garuda::cuda_backend::Lane& lane;
  std::unique_ptr<garuda::cuda_backend::ImportedMemory> memory;
};
struct GarudaCudaResidentJoin {
  garuda::cuda_backend::Lane& lane;
  std::unique_ptr<garuda::cuda_backend::ResidentJoin> join;
};
struct GarudaCudaResidentGroupBy {
  garuda::cuda_backend::Lane& lane;
  std::unique_ptr<garuda::cuda_backend::ResidentGrouping> group_by;
};

namespace {

GarudaCudaCode code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return GARUDA_CUDA_USAGE;
    case ErrorCode::no_device:
      return GARUDA_CUDA_NO_DEVICE;
    case ErrorCode::out_of_memory:
      return GARUDA_CUDA_OUT_OF_MEMORY;
    case ErrorCode::limit_exceeded:
      return GARUDA_CUDA_LIMIT_EXCEEDED;
    case ErrorCode::cancelled:
      return GARUDA_CUDA_CANCELLED;
    default:
      return GARUDA_CUDA_DEVICE_FAILURE;
  }
}

std::int32_t report(GarudaCudaCode code, std::string const& message, GarudaCudaError* error) noexcept {
  auto const length = std::min(message.size(), sizeof error->message - 1);
  std::memcpy(error->message, message.data(), length);
  error->message[length] = 0;
  return code;
}

/// Calls `body`, which returns a Result<void>.
template <class Body>
std::int32_t guarded(GarudaCudaError* error, Body const& body) noexcept {
  try {
    Result<void> const result = body();
    if (result) return GARUDA_CUDA_OK;
    return report(code_of(result.error().code()), result.error().describe(), error);
  } catch (std::bad_alloc const&) {
    return GARUDA_CUDA_OUT_OF_MEMORY;
  } catch (std::exception const& exception) {
    return report(GARUDA_CUDA_DEVICE_FAILURE, exception.what(), error);
  }
}

/// The same, the lane's device being the calling thread's.
template <class Body>
std::int32_t guarded(garuda::cuda_backend::Lane& lane, GarudaCudaError* error, Body const& body) noexcept {
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY(lane.device().enter());
    return body();
  });
}

std::int32_t count_devices(std::uint32_t* count, GarudaCudaError* error) {
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(*count, garuda::cuda_backend::count_devices());
    return {};
  });
}

std::int32_t device_traits(std::uint32_t ordinal, GarudaCudaTraits* traits, GarudaCudaError* error) {
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(*traits, garuda::cuda_backend::device_traits(ordinal));
    return {};
  });
}

std::int32_t open_device(std::uint32_t ordinal, GarudaCudaDevice** device, GarudaCudaError* error) {
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto opened, garuda::cuda_backend::Device::open(ordinal));
    *device = std::make_unique<GarudaCudaDevice>(GarudaCudaDevice{std::move(opened)}).release();
    return {};
  });
}

void close_device(GarudaCudaDevice* device) { std::unique_ptr<GarudaCudaDevice>{device}.reset(); }

std::int32_t available_bytes(GarudaCudaDevice* device, std::uint64_t* bytes, GarudaCudaError* error) {
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY(device->device->enter());
    GARUDA_TRY_ASSIGN(*bytes, device->device->available_bytes());
    return {};
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
  return guarded(error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto opened, garuda::cuda_backend::Lane::create(*device->device, *options, *host));
    *lane = std::make_unique<GarudaCudaLane>(GarudaCudaLane{std::move(opened)}).release();
    return {};
  });
}

void close_lane(GarudaCudaLane* lane) {
  std::unique_ptr<GarudaCudaLane> const closed(lane);
  // Without its device nothing of the lane is there any more.
  (void)closed->lane->device().enter();
}

std::int32_t begin_join(GarudaCudaLane* lane, GarudaCudaJoinSlice const* slice, GarudaCudaJoin** join,
                        GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto begun, garuda::cuda_backend::Join::begin(*lane->lane, *slice));
    *join = std::make_unique<GarudaCudaJoin>(GarudaCudaJoin{*lane->lane, std::move(begun)}).release();
    return {};
  });
}

std::int32_t join_count(GarudaCudaJoin* join, std::uint64_t* count, GarudaCudaError* error) {
  return guarded(join->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(*count, join->join->count());
    return {};
  });
}

std::int32_t join_pairs(GarudaCudaJoin* join, std::uint64_t first, std::uint64_t count, GarudaCudaRowPair* pairs,
                        GarudaCudaError* error) {
  return guarded(join->lane, error, [&] { return join->join->pairs(first, {pairs, count}); });
}

std::int32_t join_mark(GarudaCudaJoin* join, std::uint32_t is_left, std::uint64_t count, std::uint64_t* words,
                       GarudaCudaError* error) {
  return guarded(join->lane, error, [&] { return join->join->mark(is_left != 0, {words, count}); });
}

std::int32_t begin_groups(GarudaCudaLane* lane, GarudaCudaGroupSlice const* slice, GarudaCudaGroups** groups,
                          GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&]() -> Result<void> {
    *groups = std::make_unique<GarudaCudaGroups>(*lane->lane, *slice).release();
    return {};
  });
}

std::int32_t find_groups(GarudaCudaGroups* groups, std::uint64_t* count, GarudaCudaError* error) {
  return guarded(groups->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(*count, groups->groups.find());
    return {};
  });
}

std::int32_t group_heads(GarudaCudaGroups* groups, std::uint64_t count, std::uint32_t* heads, GarudaCudaError* error) {
  return guarded(groups->lane, error, [&] { return groups->groups.heads({heads, count}); });
}

std::int32_t group_ids(GarudaCudaGroups* groups, std::uint64_t count, std::uint32_t* ids, GarudaCudaError* error) {
  return guarded(groups->lane, error, [&] { return groups->groups.ids({ids, count}); });
}

std::int32_t aggregate(GarudaCudaGroups* groups, GarudaCudaAggregate const* input, std::uint64_t* num_windows,
                       GarudaCudaError* error) {
  return guarded(groups->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(*num_windows, groups->groups.aggregate(*input));
    return {};
  });
}

std::int32_t fetch_states(GarudaCudaGroups* groups, GarudaCudaStates const* states, GarudaCudaError* error) {
  return guarded(groups->lane, error, [&] { return groups->groups.fetch(*states); });
}

std::int32_t create_buffer(GarudaCudaLane* lane, std::uint64_t bytes, GarudaCudaBuffer** buffer, std::uint64_t* address,
                           GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto memory, lane->lane->allocate(bytes, "a buffer"));
    // Other streams, and other APIs, may use it from now on.
    GARUDA_TRY(lane->lane->wait());
    *address = reinterpret_cast<std::uint64_t>(memory.as<void>());
    *buffer = std::make_unique<GarudaCudaBuffer>(GarudaCudaBuffer{*lane->lane, std::move(memory)}).release();
    return {};
  });
}

std::int32_t upload(GarudaCudaLane* lane, std::uint64_t address, void const* source, std::uint64_t bytes,
                    GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY(lane->lane->upload(reinterpret_cast<void*>(address), {static_cast<std::byte const*>(source), bytes}));
    return lane->lane->wait();
  });
}

std::int32_t download(GarudaCudaLane* lane, std::uint64_t address, void* target, std::uint64_t bytes,
                      GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&] {
    return lane->lane->download({static_cast<std::byte*>(target), bytes}, reinterpret_cast<void const*>(address));
  });
}

std::int32_t copy(GarudaCudaLane* lane, std::uint64_t target, std::uint64_t source, std::uint64_t bytes,
                  GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY(lane->lane->step("copy", 2 * bytes));
    GARUDA_CUDA_TRY(cudaMemcpyAsync(reinterpret_cast<void*>(target), reinterpret_cast<void const*>(source), bytes,
                                    cudaMemcpyDeviceToDevice, lane->lane->stream()));
    return lane->lane->wait();
  });
}

std::int32_t import_memory(GarudaCudaLane* lane, GarudaCudaImport const* memory, GarudaCudaImported** imported,
                           std::uint64_t* address, GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto view, garuda::cuda_backend::ImportedMemory::import(*memory));
    *address = view->address();
    *imported = std::make_unique<GarudaCudaImported>(GarudaCudaImported{*lane->lane, std::move(view)}).release();
    return {};
  });
}

std::int32_t count_bins(GarudaCudaLane* lane, GarudaCudaHistogram const* histogram, GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&] { return garuda::cuda_backend::count_bins(*lane->lane, *histogram); });
}

/// Handles that know their lane: the lane's device is made the thread's before they go.
template <class Handle>
void destroy(Handle* handle) {
  std::unique_ptr<Handle> const ended(handle);
  (void)ended->lane.device().enter();
}

std::int32_t begin_resident_join(GarudaCudaLane* lane, GarudaCudaResidentTable const* left,
                                 GarudaCudaResidentTable const* right, std::uint64_t expected_rows,
                                 GarudaCudaResidentTuning const* tuning, GarudaCudaResidentJoin** join,
                                 GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto begun,
                      garuda::cuda_backend::ResidentJoin::create(*lane->lane, *left, *right, expected_rows, *tuning));
    *join = std::make_unique<GarudaCudaResidentJoin>(GarudaCudaResidentJoin{*lane->lane, std::move(begun)}).release();
    return {};
  });
}

std::int32_t run_resident_join(GarudaCudaResidentJoin* join, GarudaCudaResidentRows* rows, GarudaCudaError* error) {
  return guarded(join->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(*rows, join->join->run());
    return {};
  });
}

std::int32_t begin_resident_group_by(GarudaCudaLane* lane, GarudaCudaColumn const* key, std::uint64_t rows,
                                     GarudaCudaResidentAggregate const* aggregates, std::uint32_t num_aggregates,
                                     std::uint64_t expected_groups, GarudaCudaResidentGroupBy** group_by,
                                     GarudaCudaError* error) {
  return guarded(*lane->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto begun,
                      garuda::cuda_backend::create_resident_grouping(
                          *lane->lane, *key, rows, {aggregates, aggregates + num_aggregates}, expected_groups));
    *group_by =
        std::make_unique<GarudaCudaResidentGroupBy>(GarudaCudaResidentGroupBy{*lane->lane, std::move(begun)}).release();
    return {};
  });
}

std::int32_t run_resident_group_by(GarudaCudaResidentGroupBy* group_by, GarudaCudaResidentGroups* groups,
                                   GarudaCudaError* error) {
  return guarded(group_by->lane, error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(*groups, group_by->group_by->run());
    return {};
  });
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
    begin_join,
    join_count,
    join_pairs,
    join_mark,
    destroy<GarudaCudaJoin>,
    begin_groups,
    find_groups,
    group_heads,
    group_ids,
    aggregate,
    fetch_states,
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
    destroy<GarudaCudaResidentJoin>,
    begin_resident_group_by,
    run_resident_group_by,
    destroy<GarudaCudaResidentGroupBy>,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) GarudaCudaApi const* garuda_cuda_api(std::uint32_t version) {
  return version == GARUDA_CUDA_ABI_VERSION ? &kApi : nullptr;
}
