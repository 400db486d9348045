// Tables as Python holds them: on the host or on a device, with what is known of how they were made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "garuda/engine.hpp"
#include "python/extension/watch.hpp"

namespace garuda::python {

/// For owners of what has threads or devices: a forked process has none of those that destroying would wait for.
template <class T>
void destroy_unless_forked(T* held) {
  if (!is_forked()) delete held;
}

/// Shared by all that was made with it, which it has to outlive. Never destroyed in a forked process.
using SharedEngine = std::shared_ptr<Engine>;
SharedEngine share(Engine engine);

/// Rows, wherever they are.
struct Rows {
  SharedEngine engine;  // of a device's
  std::variant<Table, DeviceTable> table;

  TableView view() const {
    return std::visit([](auto const& rows) { return rows.view(); }, table);
  }
  DeviceTable const* on_device() const noexcept { return std::get_if<DeviceTable>(&table); }
};
/// Shared by results, which view them, and by exported streams. Likewise.
using SharedRows = std::shared_ptr<Rows const>;
SharedRows share(Rows rows);

/// What made a table.
struct Made {
  Plan plan;
  RunStats stats;
};

/// Tables of no more rows, and joins of no more pairs of rows, take a few hundredths of a second, whatever they hold.
inline constexpr std::int64_t kSmallRows = std::int64_t{1} << 16;
inline constexpr std::int64_t kSmallPairs = std::int64_t{1} << 22;

struct HeldTable {
  SharedRows rows;
  std::optional<Made> made{};
};

void bind_tables(nanobind::module_& module);

}  // namespace garuda::python
