#pragma once

#include <functional>
#include <thread>

namespace headroom {

/// Starts a thread that receives no signals: the program's own threads handle them.
std::thread thread_without_signals(std::function<void()> work);

/// Calls `act` in every later child of fork(). Returns false if the system has no memory for it.
bool call_in_children(void (*act)());

/// True for the signal that ends a process at once. The system sends it when memory runs out.
bool is_kill_signal(int signal);

}  // namespace headroom
