// Messages written as text, for tests.
#ifndef LOCKSTEP_MODEL_REFERENCE_TEXT_PROTO_H_
#define LOCKSTEP_MODEL_REFERENCE_TEXT_PROTO_H_

#include <google/protobuf/text_format.h>

#include <string>

#include "gtest/gtest.h"

namespace lockstep {

template <typename Message>
Message ParseText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_REFERENCE_TEXT_PROTO_H_
