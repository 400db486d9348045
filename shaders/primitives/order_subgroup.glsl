// Shared memory that the invocations of a subgroup use among themselves.
#extension GL_KHR_memory_scope_semantics : require

// What the subgroup's invocations have done to shared memory comes before what they do next. No other memory waits.
void order_subgroup() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}
