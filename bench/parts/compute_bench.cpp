#include "bench/parts/compute_bench.hpp"

#include <algorithm>
#include <utility>

#include "operators/compute/primitives/device_primitives.hpp"

namespace garuda::bench {

Result<std::unique_ptr<ComputeBench>> ComputeBench::open(std::string_view device,
                                                         std::optional<std::uint32_t> subgroup_size) {
  std::unique_ptr<ComputeBench> bench(new ComputeBench);
  GARUDA_TRY_ASSIGN(bench->opened_, open_lane(device, "bench compute"));
  GARUDA_TRY_ASSIGN(bench->tuning_, compute::compute_tuning(bench->traits(), subgroup_size));
  auto& opened = bench->opened_;
  bench->submissions_.emplace(*opened.lane, nullptr, &bench->phases_);
  bench->context_.emplace(*opened.lane, *opened.pipelines, *bench->submissions_, bench->tuning_,
                          opened.device->memory().available_bytes());
  return bench;
}

Result<Sample> ComputeBench::time(std::function<Result<void>()> const& record) {
  return phases_.time([&]() -> Result<void> {
    GARUDA_TRY(record());
    return submissions_->finish();
  });
}

Result<vk::Buffer> ComputeBench::upload(std::span<std::byte const> values, char const* name) {
  GARUDA_TRY_ASSIGN(auto buffer, context_->device_buffer(values.size(), name));
  if (!values.empty()) GARUDA_TRY(context_->upload(buffer, 0, values));
  // What is timed next does not wait for the copy.
  GARUDA_TRY(context_->order_all("upload"));
  GARUDA_TRY(submissions_->finish());
  return buffer;
}

Result<std::function<Result<Sample>()>> ComputeBench::copy(std::uint64_t bytes) {
  constexpr std::uint64_t kCopyUnit = 16;  // bytes that a copy pass moves at a time
  auto const copied = std::max(bytes / 2 / kCopyUnit, std::uint64_t{1}) * kCopyUnit;
  GARUDA_TRY_ASSIGN(auto source, context_->device_buffer(copied, "copy source"));
  GARUDA_TRY_ASSIGN(auto target, context_->device_buffer(copied, "copy target"));
  auto const buffers = std::make_shared<std::pair<vk::Buffer, vk::Buffer>>(std::move(source), std::move(target));
  return [this, buffers, copied] {
    return time([&] {
      return compute::record_copy(*context_, "copy", buffers->first.address(), buffers->second.address(), copied);
    });
  };
}

}  // namespace garuda::bench
