# Writes 20000 orders as JSON. The random numbers are generated here, so that the output is the same on every machine.

function dice(n) {
    seed = (seed * 16807) % 2147483647
    return seed % n
}

BEGIN {
    seed = 4711
    split("Graz Linz Wels Enns Steyr Villach", town, " ")
    split("Moser Huber Gruber Wagner Pichler Steiner Mayer Bauer", customer, " ")
    split("lamp chair kettle coat tent radio table brush clock rug vase shelf", product, " ")
    print "["
    for (id = 1; id <= 20000; id++) {
        kind = dice(100)
        status = kind < 4 ? "open" : kind < 40 ? "paid" : kind < 96 ? "sent" : "returned"
        items = ""
        cents = 0
        count = 1 + dice(3)
        for (i = 1; i <= count; i++) {
            quantity = 1 + dice(4)
            price = 499 + dice(18000)
            cents += quantity * price
            items = items sprintf("%s{\"product\": \"%s\", \"quantity\": %d, \"price\": %d.%02d}", i > 1 ? ", " : "", product[1 + dice(12)], quantity, int(price / 100), price % 100)
        }
        printf "  {\"id\": %d, \"customer\": \"%s\", \"town\": \"%s\", \"status\": \"%s\", \"total\": %d.%02d, \"items\": [%s]}%s\n", id, customer[1 + dice(8)], town[1 + dice(6)], status, int(cents / 100), cents % 100, items, id < 20000 ? "," : ""
    }
    print "]"
}
