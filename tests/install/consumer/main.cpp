// Joins two small tables on the CPU path and prints how many rows came out.
#include <array>
#include <cstdint>
#include <cstdio>
#include <garuda/engine.hpp>

int main() {
  std::array<std::int32_t, 4> const keys{1, 2, 2, 3};
  garuda::Schema const schema{{.name = "k", .type = {.id = garuda::TypeId::int32}}};
  std::array const columns{garuda::ArrayView{.length = 4, .null_count = 0, .values = keys.data()}};
  std::array const batches{garuda::BatchView{.num_rows = 4, .columns = columns}};
  garuda::TableView const table{schema, batches};

  auto engine = garuda::Engine::create({.vulkan = false});
  if (!engine) return std::puts(engine.error().message().c_str()), 1;
  garuda::JoinOptions options;
  options.path = garuda::Path::cpu;
  auto joined = engine->join(table, table, {.on = {{"k", "k"}}}, options);
  if (!joined) return std::puts(joined.error().message().c_str()), 1;
  auto rows = garuda::collect(**joined);
  if (!rows) return std::puts(rows.error().message().c_str()), 1;
  std::printf("%lld rows\n", static_cast<long long>(rows->num_rows()));
  return rows->num_rows() == 6 ? 0 : 1;
}
