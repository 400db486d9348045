#include "python/extension/engine.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

namespace nb = nanobind;

namespace garuda::python {
namespace {

HeldEngine make_engine(bool vulkan, bool cuda, bool validation) {
  auto const watch = watching();
  mark_used();
  return {
      share(run(*watch, [=] { return Engine::create({.vulkan = vulkan, .cuda = cuda, .validation = validation}); }))};
}

nb::dict describe(DeviceInfo const& info) {
  nb::dict traits;
  for (auto const& [name, value] : info.traits) traits[name.c_str()] = value;
  nb::dict device;
  device["number"] = info.index;
  device["name"] = info.name;
  device["kind"] = std::string(to_string(info.kind));
  device["api"] = std::string(to_string(info.api));
  device["api_version"] = info.api_version;
  device["driver"] = info.driver;
  device["memory_bytes"] = info.memory_bytes;
  device["unified_memory"] = info.unified_memory;
  device["subgroup_size"] = info.subgroup_size;
  device["usable"] = info.usable;
  device["reason"] = info.reason;
  device["same_gpu"] = info.same_gpu;
  device["missing_optional"] = info.missing_optional;
  device["traits"] = traits;
  return device;
}

nb::list devices_of(HeldEngine const& held) {
  require_not_forked();
  nb::list devices;
  for (auto const& info : held.engine->devices()) devices.append(describe(info));
  return devices;
}

void find_cuda_devices(HeldEngine const& held) {
  auto const watch = watching();
  run(*watch, [engine = held.engine]() -> Result<int> {
    GARUDA_TRY(engine->find_cuda_devices());
    return 0;
  });
}

Result<DeviceTable> on_device(Engine& engine, Rows const& rows, std::optional<std::string> const& device,
                              Control const& control) {
  GARUDA_TRY_ASSIGN(auto const checked, rows.checked(0, {}, &control));
  return engine.upload(checked, {.device = device, .control = control});
}

HeldTable upload(HeldEngine const& held, HeldTable const& table, std::optional<std::string> device,
                 nb::object on_progress) {
  auto const watch = watching(std::move(on_progress));
  auto uploaded = run(*watch, [watch, engine = held.engine, rows = table.rows, device = std::move(device)] {
    return on_device(*engine, *rows, device, watch->control());
  });
  return {share(held.engine, std::move(uploaded))};
}

void release_memory(HeldEngine const& held) {
  require_not_forked();
  held.engine->release_device_memory();
  held.engine->release_host_memory();
  release_reader_memory();
}

}  // namespace

void bind_engine(nb::module_& module) {
  nb::class_<HeldEngine>(module, "Engine")
      .def(nb::new_(&make_engine), nb::arg("vulkan"), nb::arg("cuda"), nb::arg("validation"))
      .def("devices", devices_of)
      .def("find_cuda_devices", find_cuda_devices)
      .def("upload", upload, nb::arg("table"), nb::arg("device").none(), nb::arg("on_progress").none())
      .def("release_memory", release_memory)
      .def("validation_messages", [](HeldEngine const& held) { return held.engine->validation_messages(); });
}

}  // namespace garuda::python
