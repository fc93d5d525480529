// Each group of commands, asked by redis-cli.
#include "examples/kv/kv_test.h"

#include <string>

namespace {

class kv_commands : public thrum::test::kv_test {
 protected:
  void SetUp() override {
    if (!thrum::test::is_installed("redis-cli")) GTEST_SKIP() << "redis-cli is not installed (Debian: redis-tools)";
    kv_test::SetUp();
  }
  // What redis-cli prints for a command a line: a nil is an empty line, an array a line for each of its elements.
  [[nodiscard]] std::string say(std::string const& lines) const {
    std::FILE* const pipe =
        ::popen(("printf '%s' '" + lines + "' | redis-cli -p " + std::to_string(port()) + " 2>&1").c_str(), "r");
    std::string text;
    char part[1024];
    while (std::size_t const got = std::fread(part, 1, sizeof part, pipe)) text.append(part, got);
    EXPECT_EQ(::pclose(pipe), 0);
    return text;
  }
};
THRUM_KV_AT_EVERY_WIDTH(kv_commands);

TEST_P(kv_commands, of_the_connection) {
  EXPECT_EQ(say("PING\nPING hello\nECHO hi\nSELECT 0\n"), "PONG\nhello\nhi\nOK\n");
  EXPECT_EQ(say("SELECT 1\n"), "ERR DB index is out of range\n\n");
  EXPECT_EQ(say("CLIENT SETNAME me\nCLIENT GETNAME\nCLIENT SETINFO LIB-NAME x\n"), "OK\nme\nOK\n");
  EXPECT_EQ(say("CONFIG GET save\nCONFIG GET appendonly\n"), "save\n\nappendonly\nno\n");
  EXPECT_EQ(say("HELLO 3\n"), "NOPROTO unsupported protocol version\n\n");
  EXPECT_NE(say("HELLO\n").find("proto\n2\n"), std::string::npos);
  EXPECT_NE(say("INFO\n").find("connected_clients:1"), std::string::npos);
}

TEST_P(kv_commands, for_strings) {
  EXPECT_EQ(say("SET a 1\nGET a\nGET b\nSETNX a 2\nSETNX b 2\nGETSET a 3\nGETDEL a\nGET a\n"),
            "OK\n1\n\n0\n1\n1\n3\n\n");
  EXPECT_EQ(say("SET x 1 XX\nSET x 1 NX\nSET x 2 NX\nSET x 2 XX GET\nGET x\n"), "\nOK\n\n1\n2\n");
  EXPECT_EQ(say("APPEND s abc\nAPPEND s de\nGET s\nSTRLEN s\nSTRLEN none\n"), "3\n5\nabcde\n5\n0\n");
  EXPECT_EQ(say("INCR n\nINCRBY n 9\nDECR n\nDECRBY n -1\nGET n\n"), "1\n10\n9\n10\n10\n");
  EXPECT_EQ(say("MSET k1 v1 k2 v2\nMGET k1 none k2\n"), "OK\nv1\n\nv2\n");
}

TEST_P(kv_commands, for_lists) {
  EXPECT_EQ(say("RPUSH l b c\nLPUSH l a z\nLRANGE l 0 -1\nLLEN l\n"), "2\n4\nz\na\nb\nc\n4\n");
  EXPECT_EQ(say("LINDEX l 0\nLINDEX l -1\nLINDEX l 9\nLRANGE l 1 2\nLRANGE l 5 9\n"), "z\nc\n\na\nb\n\n");
  EXPECT_EQ(say("LPOP l\nRPOP l\nLPOP l 5\nEXISTS l\nLPOP l\nLLEN l\n"), "z\nc\na\nb\n0\n\n0\n");
  EXPECT_EQ(say("RPUSH q 1 2\nBLPOP none q 1\nBRPOP q 1\n"), "2\nq\n1\nq\n2\n");
}

TEST_P(kv_commands, for_keys) {
  EXPECT_EQ(say("MSET one 1 two 2\nRPUSH three 3\nEXISTS one two two none\nTYPE one\nTYPE three\nTYPE none\n"),
            "OK\n1\n3\nstring\nlist\nnone\n");
  EXPECT_EQ(say("KEYS t[a-h]*\nDBSIZE\nDEL one two none\nDBSIZE\n"), "three\n3\n2\n1\n");
  EXPECT_EQ(say("FLUSHALL\nDBSIZE\nSET a 1\nFLUSHDB\nKEYS *\n"), "OK\n0\nOK\nOK\n\n");
}

TEST_P(kv_commands, for_expiry) {
  EXPECT_EQ(say("SET a 1\nTTL a\nEXPIRE a 1000\nTTL a\nPERSIST a\nTTL a\nTTL none\nEXPIRE none 5\n"),
            "OK\n-1\n1\n1000\n1\n-1\n-2\n0\n");
  EXPECT_EQ(say("SETEX b 1000 x\nTTL b\nSET b y KEEPTTL\nTTL b\nSET b z\nTTL b\n"), "OK\n1000\nOK\n1000\nOK\n-1\n");
  EXPECT_EQ(say("SET c x EX 1000\nTTL c\nPEXPIRE c 1\nSET c y PX 900000\nTTL c\n"), "OK\n1000\n1\nOK\n900\n");
  EXPECT_EQ(say("EXPIRE a -1\nEXISTS a\n"), "1\n0\n");
}

TEST_P(kv_commands, that_are_wrong) {
  std::string const wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value\n\n";
  EXPECT_EQ(say("SET s x\nRPUSH l x\n"), "OK\n1\n");
  for (char const* const each : {"GET l", "INCR l", "APPEND l x", "LPUSH s x", "LRANGE s 0 1", "LLEN s", "BLPOP s 1"}) {
    EXPECT_EQ(say(each), wrong_type) << each;
  }
  EXPECT_EQ(say("GET\n"), "ERR wrong number of arguments for 'get' command\n\n");
  EXPECT_EQ(say("MSET a\n"), "ERR wrong number of arguments for 'mset' command\n\n");
  EXPECT_EQ(say("NONSENSE a b\n"), "ERR unknown command 'NONSENSE', with args beginning with: 'a' 'b' \n\n");
  EXPECT_EQ(say("SET a 1 EX\n"), "ERR syntax error\n\n");
  EXPECT_EQ(say("SET a 1 EX 0\n"), "ERR invalid expire time in 'set' command\n\n");
  EXPECT_EQ(say("INCR s\n"), "ERR value is not an integer or out of range\n\n");
  EXPECT_EQ(say("SET n 9223372036854775807\n"), "OK\n");
  EXPECT_EQ(say("INCR n\n"), "ERR increment or decrement would overflow\n\n");
  EXPECT_EQ(say("BLPOP l -1\n"), "ERR timeout is negative\n\n");
}

}  // namespace
