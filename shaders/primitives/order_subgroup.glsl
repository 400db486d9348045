// Shared memory that the invocations of a subgroup use among themselves.
#extension GL_KHR_memory_scope_semantics : require

// Orders the subgroup's accesses to shared memory: those before the call come before those after it. No other memory
// waits.
void order_subgroup() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}
