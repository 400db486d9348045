// A result whose rows are a table on a device: read in batches, or left there.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "garuda/device_table.hpp"
#include "garuda/run.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/range_download.hpp"
#include "operators/run/query_run.hpp"
#include "vk_runtime/memory/copy_team.hpp"

namespace garuda::device {

struct DeviceResultOptions {
  char const* operation = "";  ///< "join": as progress and errors name it
  Control control;
  Upload upload = Upload::automatic;
  std::uint32_t copy_threads = 1;
  RunStats inputs;  ///< their rows
};

class DeviceResult final : public QueryResult {
 public:
  /// Batches have plan.chunk_rows rows.
  DeviceResult(DeviceTable table, Plan plan, DeviceResultOptions options, std::unique_ptr<run::QueryRun> run);

  /// Sends the first batches down; else next() does. Errors: those of copies.
  Result<void> start_downloads();

  Schema const& schema() const noexcept override { return schema_; }
  Plan const& plan() const noexcept override { return plan_; }
  Result<std::optional<Batch>> next() override;
  RunStats stats() const override;
  Result<DeviceTable> take_device_table() override;

 private:
  Result<void> open_team();
  /// Rows of a batch, at most.
  std::uint64_t batch_rows() const noexcept;
  Result<std::optional<Batch>> take_batch();

  std::optional<DeviceTable> table_;  // none: taken, or failed
  Schema schema_;
  Plan plan_;
  DeviceResultOptions options_;
  std::unique_ptr<run::QueryRun> run_;
  std::unique_ptr<compute::ComputeLane> lane_;
  std::optional<StringDownload> strings_;
  std::uint64_t started_ = 0;  // rows on their way or here
  std::uint64_t rows_out_ = 0;
  std::deque<RangeDownload> arriving_;
  std::unique_ptr<vk::CopyTeam> down_;  // last: its threads use what is above
};

}  // namespace garuda::device
