#!/bin/bash
# The folders are the architecture: each may include only what is listed here (DESIGN.md, "Folders"). gRPC stays at
# the edge. Prints every line that breaks a rule and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0

# allow FOLDER 'ALTERNATIVES': our own headers that files of FOLDER may include.
allow() {
  local lines
  lines=$(grep -rnE '^#include "(base|proto|data|model|collective|worker|tools|test)/' "$1" --include='*.h' --include='*.cc' |
    grep -vE "#include \"($2)/?" || true)
  [[ -z $lines ]] && return
  echo "$1 includes what it must not:" >&2
  echo "$lines" >&2
  failed=1
}

allow base 'base'
allow data 'base|data|proto/data.pb.h'
allow model 'base|model|proto/model.pb.h'
allow collective 'base|collective|proto/collective'
allow worker 'base|proto|data|model|collective|worker'

grpc=$(grep -rlE '#include [<"]grpc' base data model collective worker --include='*.h' --include='*.cc' |
  grep -vE '_test\.cc$|^collective/transport/grpc_|^worker/(.*_service|rpc_status|control_channel|grpc_lifetime|grpc_prober|chief_link|node)\.' || true)
if [[ -n $grpc ]]; then
  echo "gRPC is included outside of transports, services and their clients:" >&2
  echo "$grpc" >&2
  failed=1
fi

glog=$(grep -rlE '#include [<"]glog' --include='*.h' --include='*.cc' base data model collective worker tools |
  grep -v '^base/logging.h$' || true)
if [[ -n $glog ]]; then
  echo "glog is included outside of base/logging.h:" >&2
  echo "$glog" >&2
  failed=1
fi
exit "$failed"
