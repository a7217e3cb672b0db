// liburcu's rculfhash: a lock-free list of nodes in split order under RCU, here of the kind whose readers
// tell when they are quiescent (QSBR), which is the fastest. Each key has a node of its own from malloc;
// erased ones are freed by call_rcu, whose thread is beside those measured.
#include "peer_mix.hpp"

#include <urcu-qsbr.h>

#include <urcu/rculfhash.h>

#include <cstddef>
#include <new>

template <class K, class V> class Lfht
{
  public:
    static constexpr const char *name = "liburcu rculfhash";
    static const char *version() { return "Debian"; }

    // A thread that may touch a table.
    struct Thread {
        Thread() { urcu_qsbr_register_thread(); }
        ~Thread() { urcu_qsbr_unregister_thread(); }
    };

    explicit Lfht(std::uint64_t n)
    {
        unsigned long buckets = 1;
        while (buckets < n)
            buckets *= 2;
        Thread here;
        inner = cds_lfht_new_flavor(buckets, 1, 0, 0, &urcu_qsbr_flavor, nullptr);
        if (!inner)
            throw std::bad_alloc();
    }
    ~Lfht()
    {
        Thread here;
        cds_lfht_iter at;
        for (cds_lfht_first(inner, &at); cds_lfht_iter_get_node(&at); cds_lfht_next(inner, &at)) {
            cds_lfht_node *node = cds_lfht_iter_get_node(&at);
            cds_lfht_del(inner, node);
            drop(of(node));
        }
        urcu_qsbr_barrier();
        urcu_qsbr_thread_offline();
        cds_lfht_destroy(inner, nullptr);
        urcu_qsbr_thread_online();
    }
    bool insert(K key, V value)
    {
        Pair *pair = static_cast<Pair *>(std::malloc(sizeof *pair));
        if (!pair)
            throw std::bad_alloc();
        cds_lfht_node_init(&pair->node);
        pair->key = key;
        pair->value = value;
        cds_lfht_node *there = cds_lfht_add_unique(inner, hash(key), match, &key, &pair->node);
        bool hit = there != &pair->node;
        if (hit)
            std::free(pair); // nobody has seen it
        quiescent();
        return hit;
    }
    bool find(K key, V &value)
    {
        const Pair *pair = look(key);
        if (pair)
            value = pair->value;
        quiescent();
        return pair;
    }
    bool contains(K key)
    {
        bool hit = look(key) != nullptr;
        quiescent();
        return hit;
    }
    bool erase(K key)
    {
        Pair *pair = look(key);
        bool hit = pair && !cds_lfht_del(inner, &pair->node);
        if (hit)
            drop(pair);
        quiescent();
        return hit;
    }

  private:
    struct Pair {
        cds_lfht_node node;
        rcu_head head;
        K key;
        V value;
    };
    cds_lfht *inner;

    static Pair *of(cds_lfht_node *node) { return reinterpret_cast<Pair *>(node); } // it is the first
    static void free_later(rcu_head *head)
    {
        std::free(reinterpret_cast<char *>(head) - offsetof(Pair, head));
    }
    static void drop(Pair *pair) { urcu_qsbr_call_rcu(&pair->head, free_later); }
    // The bench's keys are random already; the table takes the lower bits.
    static unsigned long hash(K key) { return static_cast<unsigned long>(key); }
    static int match(cds_lfht_node *node, const void *key)
    {
        return of(node)->key == *static_cast<const K *>(key);
    }
    Pair *look(K key)
    {
        cds_lfht_iter at;
        cds_lfht_lookup(inner, hash(key), match, &key, &at);
        cds_lfht_node *node = cds_lfht_iter_get_node(&at);
        return node ? of(node) : nullptr;
    }
    // Every 256 operations of a thread.
    static void quiescent()
    {
        static thread_local unsigned count;
        if (++count % 256 == 0)
            urcu_qsbr_quiescent_state();
    }
};

int main(int argc, char **argv)
{
    peer::Options options = peer::options_read(argc, argv);
    peer::Report report;
    peer::measure_mixes<Lfht>(report, options);
}
