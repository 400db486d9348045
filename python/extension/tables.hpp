// Tables as Python holds them: on the host or on a device, with what is known of how they were made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "garuda/arrow_c.hpp"
#include "garuda/engine.hpp"
#include "operators/engine/rows.hpp"
#include "python/extension/watch.hpp"

namespace garuda::python {

/// Owns an object with threads or devices: a forked process has none of those that destroying would wait for.
template <class T>
void destroy_unless_forked(T* held) {
  if (!is_forked()) delete held;
}

/// Shared by all that was made with it, which it has to outlive. Never destroyed in a forked process.
using SharedEngine = std::shared_ptr<Engine>;
SharedEngine share(Engine engine);

/// Rows, wherever they are.
class Rows {
 public:
  using Place = engine::Rows::Place;

  /// `engine`: of a device's.
  Rows(SharedEngine engine, Place place, Offsets offsets)
      : engine_(std::move(engine)), rows_(std::move(place), offsets) {}

  SharedEngine const& engine() const noexcept { return engine_; }
  /// Names, types and the number of rows are right; values once they are `checked`.
  TableView view() const { return rows_.view(); }
  Result<TableView> checked(std::uint32_t threads, engine::ColumnNames const& columns = {},
                            Control const* control = nullptr) const {
    return rows_.checked(threads, columns, control);
  }
  Offsets offsets() const { return rows_.offsets(); }
  DeviceTable const* on_device() const noexcept { return std::get_if<DeviceTable>(&rows_.place()); }
  /// Requires: on the host.
  Table const& on_host() const { return std::get<Table>(rows_.place()); }

 private:
  SharedEngine engine_;
  mutable engine::Rows rows_;  // what of it was checked changes
};
/// Shared by results, which view them, and by exported streams. Likewise.
using SharedRows = std::shared_ptr<Rows const>;
SharedRows share(SharedEngine engine, Rows::Place place, Offsets offsets = Offsets::checked);

/// Plan and statistics of the query that made a table.
struct Origin {
  Plan plan;
  RunStats stats;
};

/// Tables of no more rows, and joins of no more pairs of rows, take a few hundredths of a second, whatever they hold.
inline constexpr std::int64_t kSmallRows = std::int64_t{1} << 16;
inline constexpr std::int64_t kSmallPairs = std::int64_t{1} << 22;

/// The fields, and the share of its files, of a table in a smaller form than what it stands for (StoredTable).
struct StoredColumns {
  Schema fields;
  std::optional<FilesRead> files;
};

struct HeldTable {
  SharedRows rows;
  std::optional<Origin> origin{};
  std::shared_ptr<StoredColumns const>
      stored{};  ///< Shared with queries. nullptr: the columns are what they stand for.
};

/// The build side of joins. Shared as rows are, which it views.
struct HeldBuild {
  SharedEngine engine;
  SharedRows rows;
  std::shared_ptr<JoinBuild const> build;
};

/// Gives back the memory that the reader of files keeps for later calls.
void release_reader_memory();

void bind_tables(nanobind::module_& module);

}  // namespace garuda::python
