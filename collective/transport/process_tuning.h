// Settings of the process that the transports' speed depends on.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_PROCESS_TUNING_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_PROCESS_TUNING_H_

namespace lockstep {

// Call first thing in main(), before other threads exist.
void TuneProcessForTransport();

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_PROCESS_TUNING_H_
