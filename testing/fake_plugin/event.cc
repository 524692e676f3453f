#include "fake_plugin/fake_plugin.h"
#include "fake_plugin/table.h"

namespace fake {
namespace {

PJRT_Error* result(const Outcome& outcome) { return outcome.code ? error(outcome.code, outcome.text) : nullptr; }

PJRT_Error* destroy(PJRT_Event_Destroy_Args* args) {
  if (args->event) count_live("event", -1);
  delete args->event;
  return nullptr;
}

PJRT_Error* is_ready(PJRT_Event_IsReady_Args* args) {
  std::lock_guard<std::mutex> lock(state().mutex);
  args->is_ready = args->event->state->ready;
  return nullptr;
}

PJRT_Error* event_error(PJRT_Event_Error_Args* args) { return result(args->event->state->outcome); }

PJRT_Error* await(PJRT_Event_Await_Args* args) {
  auto event = args->event->state;
  {
    std::unique_lock<std::mutex> lock(state().mutex);
    state().released.wait(lock, [&] { return event->ready; });
  }
  return result(event->outcome);
}

PJRT_Error* on_ready(PJRT_Event_OnReady_Args* args) {
  auto event = args->event->state;
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (!event->ready) {
      event->callbacks.emplace_back(args->callback, args->user_arg);
      return nullptr;
    }
  }
  args->callback(result(event->outcome), args->user_arg);
  return nullptr;
}

}  // namespace

PJRT_Event* make_event(const Outcome& outcome, bool immediate) {
  auto event = std::make_shared<EventState>();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  event->outcome = outcome;
  if (auto struck = strike(s.event_faults, "")) event->outcome = *struck;
  if (s.hold && !immediate) {
    event->ready = false;
    s.held.push_back(event);
  }
  ++s.live["event"];
  return new PJRT_Event{event};
}

void add_event(Table& table) {
  add<PJRT_Event_Destroy_Args, destroy>(table, &PJRT_Api::PJRT_Event_Destroy);
  add<PJRT_Event_IsReady_Args, is_ready>(table, &PJRT_Api::PJRT_Event_IsReady);
  add<PJRT_Event_Error_Args, event_error>(table, &PJRT_Api::PJRT_Event_Error);
  add<PJRT_Event_Await_Args, await>(table, &PJRT_Api::PJRT_Event_Await);
  add<PJRT_Event_OnReady_Args, on_ready>(table, &PJRT_Api::PJRT_Event_OnReady);
}

}  // namespace fake

extern "C" void fake_hold_events(bool hold) {
  std::lock_guard<std::mutex> lock(fake::state().mutex);
  fake::state().hold = hold;
}

extern "C" void fake_release_events() {
  std::vector<std::shared_ptr<fake::EventState>> held;
  {
    std::lock_guard<std::mutex> lock(fake::state().mutex);
    held.swap(fake::state().held);
    for (auto& event : held) event->ready = true;
    fake::state().released.notify_all();
  }
  // Ready events take no more callbacks, so their lists can be walked without the lock.
  for (auto& event : held) {
    for (auto [callback, argument] : event->callbacks) callback(fake::result(event->outcome), argument);
    event->callbacks.clear();
  }
}
