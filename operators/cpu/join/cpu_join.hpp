// The CPU path of the join: a hash join of each slice on oneTBB.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"

namespace garuda::cpu {

/// Opens the CPU path; with `tuning.method` bitmap as bitmap_join has it. Else its kernels build on the side that the
/// slice or `tuning.build` names, else on the smaller one (the right one of two equal ones); the other knobs do not
/// apply. Each key is looked up once: what `count` finds is kept for `pairs` when these are wanted, four bytes a probe
/// row. Every call of a kernel runs on the threads of the calling task arena. Pairs come in the order of probe rows,
/// those of one probe row in ascending order of build rows. Phases reported: build, count, probe (pairs), mark.
/// Requires: options.key_bits is 32 or 64, at least one lane. `options.control` and `options.stats` may be null.
Result<std::unique_ptr<contract::JoinBackend>> open_cpu_join(contract::BackendOptions const& options);

/// Makes the tables that kernels look up in, as JoinRow::build_tables has it.
Result<void> build_join_tables(std::span<contract::KeySpan const> pieces, std::uint32_t shared_low_bits,
                               Control const& control, contract::KeptTables& kept);

/// Upper bound of the host memory that a kernel of the CPU path holds beside its keys, in bytes.
/// `key_bits`: 32 or 64.
std::uint64_t cpu_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_bits) noexcept;

}  // namespace garuda::cpu
