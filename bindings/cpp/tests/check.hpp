// Owns what the C++ tests share: failing loudly, an engine of its own database, workflows.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <string>

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (0)

#define CHECK_THROWS(expected, expression)                                                     \
    do {                                                                                       \
        std::int32_t met = 0;                                                                  \
        try {                                                                                  \
            (void)(expression);                                                                \
        } catch (const studio::Error &error) {                                                 \
            met = error.code;                                                                  \
        }                                                                                      \
        if (met != (expected)) {                                                               \
            std::fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #expression, met); \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (0)

inline std::string config(const std::string &name) {
    return R"({"environment":"local","default_provider":"script","default_model":"echo","database":{"path":")" + name + R"("}})";
}

inline std::string workflow(const std::string &slug, const std::string &node) {
    return R"({"slug":")" + slug + R"(","name":")" + slug + R"(","graph":{"version":1,"nodes":[)"
        R"({"id":"start","type":"start","position":{"x":0,"y":0},"data":{}},{"id":"it","position":{"x":0,"y":0},)" + node + R"(},)"
        R"({"id":"stop","type":"stop","position":{"x":0,"y":0},"data":{"reply":"{{said}}"}}],"edges":[)"
        R"({"id":"a","source":"start","target":"it","sourceHandle":"default","targetHandle":"default"},)"
        R"({"id":"b","source":"it","target":"stop","sourceHandle":"default","targetHandle":"default"}]}})";
}

inline std::string echo_node() {
    return R"("type":"llm","data":{"provider":"script","model":"echo","prompt":"{{input}}","output_key":"said","stream":true})";
}
inline std::string tool_node(const std::string &tool) {
    return R"("type":"tool","data":{"tool_ref":"host:)" + tool + R"(","output_key":"said"})";
}
inline std::string human_node() { return R"("type":"human","data":{"prompt":"Well?","output_key":"said"})"; }

#endif
